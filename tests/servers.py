"""Real servers for the tests: free ports, own folders, ended with the test."""

import getpass
import json
import os
import re
import secrets
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import httpx

from core.settings import tools
from core.settings.accounts import jetty_line, write_secret
from core.stores.endpoint import Endpoint
from sampling.counters import private_pmcd
from supertwin.stack.children import fuseki_config, fuseki_main
from tests.ports import LOOPBACK, free_port
from tests.sample_agent import AGENTS, name_space

ROOT = Path(__file__).parents[1]
# Before a command: the kernel sends it SIGTERM when the thread that starts it ends,
# and with it when the test run is killed.
ENDS_WITH_US = (str(tools.setpriv()), "--pdeathsig", "TERM", "--")


def wait_until(
    check: Callable[[], Any], seconds: float = 120.0, what: str = "what is waited for"
) -> float:
    """Seconds until a check holds; fails when it does not in time.

    The limit is generous: a busy machine is not a defect.
    """
    started = time.monotonic()
    while not check():
        assert time.monotonic() - started < seconds, f"{what}: not within {seconds} s"
        time.sleep(0.05)
    return time.monotonic() - started


def answers(url: str) -> bool:
    """Whether something answers well at an address."""
    try:
        return httpx.get(url, timeout=5, trust_env=False).is_success
    except httpx.HTTPError:
        return False


class Server(ABC):
    """A process that is ended with the test, whatever happens."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.clean()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.clean()

    @abstractmethod
    def start(self) -> None:
        """Start it and wait until it answers."""

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def launch(
        self, command: Sequence[str | Path], cwd: Path | None = None, **env: str
    ) -> None:
        """Start it; it gets SIGTERM should this process die."""
        with (self.folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [*ENDS_WITH_US, *command],
                cwd=cwd or self.folder,
                env=os.environ | env,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def ready(self, check: Callable[[], Any], seconds: float = 120.0) -> None:
        """Wait until it answers; fails at once, with its output, when it ended."""
        wait_until(lambda: self.ended() is not None or check(), seconds, self.output())
        assert self.ended() is None, self.output()[-3000:]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit status."""
        assert self._process
        self._process.send_signal(number)
        return self._process.wait(120)

    def ended(self) -> int | None:
        """The exit status, None while it runs."""
        assert self._process
        return self._process.poll()

    def clean(self) -> None:
        """End it if it still runs."""
        if self._process and self._process.poll() is None:
            self.end(signal.SIGKILL)

    def output(self) -> str:
        return (self.folder / "output").read_text(errors="replace")


class Pmcd(Server):
    """A PMCD of our own: with the system's agents, or some of them and PCP's sample."""

    def __init__(self, folder: Path, sample: bool = False) -> None:
        super().__init__(folder)
        private_pmcd.make_folders(folder)
        self._options = ["-l", str(folder / "log/pmcd.log")]
        if sample:
            (folder / "pmns").write_text(name_space())
            (folder / "pmcd.conf").write_text(AGENTS)
            self._options += ["-n", str(folder / "pmns")]
            self._options += ["-c", str(folder / "pmcd.conf")]
        self.socket = folder / "run/pmcd.socket"
        self.port = free_port()
        self.tcp = f"{LOOPBACK}:{self.port}"
        self.address = f"unix://{self.socket}"

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        self.launch(
            [
                *(tools.pmcd(), "-f", "-A", "-U", getpass.getuser()),
                *("-i", LOOPBACK, "-p", str(self.port), "-s", self.socket),
                *self._options,
            ],
            **private_pmcd.environment(self.folder),
        )
        self.ready(lambda: self._run("pminfo", "-f", "pmcd.version").returncode == 0)

    def store(self, metric: str, value: str) -> None:
        """Set a metric of the sample agent."""
        done = self._run("pmstore", metric, value)
        assert done.returncode == 0, done.stderr

    def kill_agents(self, name: str = r"\w+") -> None:
        """Kill its agents as kill -9 does; it starts them again by itself."""
        log = (self.folder / "log/pmcd.log").read_text()
        table = log.rpartition("active agent dom")[2]
        line = rf"^{name} +\d+ +(\d+) .* bin pipe"
        for pid in re.findall(line, table, re.MULTILINE):
            os.kill(int(pid), signal.SIGKILL)

    def names(self) -> list[str]:
        """Every metric that it exposes."""
        return self._run("pminfo").stdout.split()

    def _run(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, "-h", self.address, *words],
            capture_output=True,
            text=True,
            check=False,
        )


class VictoriaMetrics(Server):
    """A store whose address and data outlive its restarts."""

    def __init__(self, folder: Path, *options: str) -> None:
        super().__init__(folder)
        self._options = options
        self.port = free_port()
        self.url = f"http://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        self.launch(
            [
                tools.store(),
                f"-storageDataPath={self.folder / 'data'}",
                f"-httpListenAddr={LOOPBACK}:{self.port}",
                *("-search.latencyOffset=0s", "-dedup.minScrapeInterval=1ms"),
                *("-retentionPeriod=90d", "-memory.allowedPercent=5"),
                "-loggerLevel=ERROR",
                *self._options,
            ]
        )
        self.ready(lambda: answers(f"{self.url}/health"))

    def values(self, match: str = '{hostname!=""}') -> dict[str, dict[int, float]]:
        """Every series as ``name{instname}``: its values by millisecond.

        Fails where a series has a millisecond twice.
        """
        httpx.get(f"{self.url}/internal/force_flush")
        answer = self._export(match)
        found: dict[str, dict[int, float]] = defaultdict(dict)
        for line in answer.text.splitlines():
            block = json.loads(line)
            series = found[f"{block['metric']['__name__']}{_instance(block['metric'])}"]
            for ms, value in zip(block["timestamps"], block["values"], strict=True):
                assert ms not in series
                series[ms] = value
        return dict(found)

    def count(self, match: str = '{hostname!=""}') -> int:
        """How many points there are, as the store itself counts them."""
        httpx.get(f"{self.url}/internal/force_flush")
        query = f"sum(count_over_time({match}[1h]))"
        asked = {"query": query, "time": str(time.time() + 5), "nocache": "1"}
        answer = httpx.get(f"{self.url}/api/v1/query", params=asked)
        result = answer.json()["data"]["result"]
        return int(result[0]["value"][1]) if result else 0

    def peek(self, name: str) -> list[int]:
        """Milliseconds of a series' points as a query finds them now."""
        answer = self._export(name)
        return sorted(json.loads(answer.text)["timestamps"]) if answer.text else []

    def label_values(self, label: str) -> list[str]:
        """All values that a label has."""
        answer = httpx.get(f"{self.url}/api/v1/label/{label}/values")
        found: list[str] = answer.json()["data"]
        return found

    def _export(self, match: str) -> httpx.Response:
        """Points up to the millisecond: without an end, up to the whole second only."""
        params = {"match[]": match, "end": str(time.time() + 5)}
        return httpx.get(f"{self.url}/api/v1/export", params=params)


def _instance(labels: Mapping[str, str]) -> str:
    return f"{{{labels['instname']}}}" if "instname" in labels else ""


_FROZEN = """
:frozen a fuseki:Service ;
   fuseki:name "frozen" ;
   fuseki:endpoint [ fuseki:operation fuseki:query ; fuseki:name "sparql" ] ;
   fuseki:endpoint [ fuseki:operation fuseki:gsp-r ; fuseki:name "data" ] ;
   fuseki:dataset [ a ja:MemoryDataset ] .
"""


class Fuseki(Server):
    """A graph store with the project's own configuration.

    Its datasets outlive its restarts. ``frozen`` is a dataset to read only. ``url``
    holds the account, ``address`` does not.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_port()
        self.account = ("supertwin", secrets.token_urlsafe(12))
        self.address = f"http://{LOOPBACK}:{self.port}"
        self.url = f"http://{':'.join(self.account)}@{LOOPBACK}:{self.port}"
        config = fuseki_config(folder, self.account[0]) + _FROZEN
        config = config.replace("( :twin :history )", "( :twin :history :frozen )")
        for name in ("twin", "history"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "config.ttl").write_text(config)
        write_secret(folder / "passwd", jetty_line(self.account))

    def start(self) -> None:
        java = tools.java()
        self.launch(
            [
                *(java, "-Xmx512m"),
                *fuseki_main(java, self.port),
                *("--ping", "--config", self.folder / "config.ttl"),
            ],
            FUSEKI_BASE=str(self.folder),
        )
        self.ready(lambda: answers(f"{self.url}/$/ping"))

    def empty(self) -> None:
        """Drop all graphs of both datasets."""
        for name in ("twin", "history"):
            with Endpoint(f"{self.url}/{name}") as dataset:
                dataset.update("DROP ALL")

    def environment(self, home: Path) -> dict[str, str]:
        """Settings of a `supertwin` that has this store and nothing else."""
        values = {
            "HOME": str(home),
            "BASE": "http://localhost:8000",
            "FUSEKI_URL": self.address,
            "FUSEKI_USER": self.account[0],
            "FUSEKI_PASSWORD": self.account[1],
            "PMCD": f"{LOOPBACK}:1",
        }
        return {f"SUPERTWIN_{name}": value for name, value in values.items()}
