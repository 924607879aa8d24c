"""Real servers for the tests: free ports, separate folders, ended with the test."""

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx

from core.linux.signals import ends_with_us
from core.settings import tools
from core.settings.accounts import jetty_line, write_secret
from core.stores.endpoint import Endpoint
from sampling.agents import private_pmcd
from supertwin.stack.children import fuseki_config, fuseki_main
from tests.ports import LOOPBACK, free_port
from tests.sample_agent import AGENTS, name_space

ROOT = Path(__file__).parents[1]
# Put this before a command: the kernel sends it SIGTERM when the thread that started
# it ends, hence also when the test run is killed.
ENDS_WITH_US = ends_with_us()


def wait_until(
    check: Callable[[], Any], seconds: float = 120.0, what: str = "what is waited for"
) -> float:
    """Wait until a check holds and return the seconds; fail if it takes too long.

    The limit is generous: a busy machine is not a defect.
    """
    started = time.monotonic()
    while not check():
        assert time.monotonic() - started < seconds, f"{what}: not within {seconds} s"
        time.sleep(0.05)
    return time.monotonic() - started


@contextmanager
def until_killed(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command that is killed at the end, also if the test fails."""
    with subprocess.Popen([*ENDS_WITH_US, *command]) as process:
        try:
            yield process
        finally:
            process.kill()


def answers(url: str) -> bool:
    """Return whether a request to an address succeeds."""
    try:
        return httpx.get(url, timeout=5, trust_env=False).is_success
    except httpx.HTTPError:
        return False


class Server(ABC):
    """A process that ends with the test, whatever happens."""

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
        """Start it; it gets SIGTERM if this process dies."""
        with (self.folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [*ENDS_WITH_US, *command],
                cwd=cwd or self.folder,
                env=os.environ | env,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def ready(self, check: Callable[[], Any], seconds: float = 120.0) -> None:
        """Wait until it answers; fail immediately, with its output, if it has ended."""
        wait_until(lambda: self.ended() is not None or check(), seconds, self.output())
        assert self.ended() is None, self.output()[-3000:]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, wait for the end and return the exit status."""
        assert self._process
        self._process.send_signal(number)
        return self._process.wait(120)

    def ended(self) -> int | None:
        """Return the exit status, or None while it runs."""
        assert self._process
        return self._process.poll()

    def clean(self) -> None:
        """End it if it still runs."""
        if self._process and self._process.poll() is None:
            self.end(signal.SIGKILL)

    def output(self) -> str:
        return (self.folder / "output").read_text(errors="replace")


class Pmcd(Server):
    """A separate PMCD with the system's agents, or some of them and PCP's sample."""

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
                *private_pmcd.AGENT_PATIENCE,
                # PMCD restarts an agent that is silent for 5 s: not if all are slow.
                *("-t", "60"),
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
        """Kill its agents as kill -9 does; PMCD restarts them."""
        log = (self.folder / "log/pmcd.log").read_text()
        table = log.rpartition("active agent dom")[2]
        line = rf"^{name} +\d+ +(\d+) .* bin pipe"
        for pid in re.findall(line, table, re.MULTILINE):
            os.kill(int(pid), signal.SIGKILL)

    def names(self) -> list[str]:
        """Return every metric that it exposes."""
        return self._run("pminfo").stdout.split()

    def _run(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, "-h", self.address, *words],
            capture_output=True,
            text=True,
            check=False,
        )


class VictoriaMetrics(Server):
    """A store that keeps its address and data across restarts."""

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
        """Return every series as ``name{instname}``, with its values by millisecond.

        Fails if a series has a millisecond twice.
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
        """Return the number of points, as the store counts them."""
        httpx.get(f"{self.url}/internal/force_flush")
        query = f"sum(count_over_time({match}[1h]))"
        asked = {"query": query, "time": str(time.time() + 5), "nocache": "1"}
        answer = httpx.get(f"{self.url}/api/v1/query", params=asked)
        result = answer.json()["data"]["result"]
        return int(result[0]["value"][1]) if result else 0

    def peek(self, name: str) -> list[int]:
        """Return the milliseconds of a series' points that a query finds now."""
        answer = self._export(name)
        return sorted(json.loads(answer.text)["timestamps"]) if answer.text else []

    def label_values(self, label: str) -> list[str]:
        """Return all values of a label."""
        answer = httpx.get(f"{self.url}/api/v1/label/{label}/values")
        found: list[str] = answer.json()["data"]
        return found

    def _export(self, match: str) -> httpx.Response:
        """Export with an end: without one, the current second is left out."""
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

    Its datasets survive restarts. ``frozen`` is a read-only dataset. ``url`` contains
    the account, ``address`` does not. ``store`` is the address of the series store.
    """

    def __init__(self, folder: Path, store: str = "", heap: str = "512m") -> None:
        super().__init__(folder)
        self.store = store
        self._heap = heap
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
                *(java, f"-Xmx{self._heap}"),
                *fuseki_main(java, self.port),
                *("--ping", "--config", self.folder / "config.ttl"),
            ],
            FUSEKI_BASE=str(self.folder),
            FUSEKI_STORE_URL=self.store,
        )
        self.ready(lambda: answers(f"{self.url}/$/ping"))

    def empty(self) -> None:
        """Drop all graphs of both datasets."""
        for name in ("twin", "history"):
            with Endpoint(f"{self.url}/{name}") as dataset:
                dataset.update("DROP ALL")

    def environment(self, home: Path) -> dict[str, str]:
        """Return settings of a `supertwin` that uses only this store."""
        values = {
            "HOME": str(home),
            "BASE": "http://localhost:8000",
            "FUSEKI_URL": self.address,
            "FUSEKI_USER": self.account[0],
            "FUSEKI_PASSWORD": self.account[1],
            "PMCD": f"{LOOPBACK}:1",
        }
        return {f"SUPERTWIN_{name}": value for name, value in values.items()}
