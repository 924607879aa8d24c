"""Real servers for the tests: PMCD, VictoriaMetrics, Fuseki, and the bridge itself."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from sampler_bridge.plan import make_plan, save_plan

ROOT = Path(__file__).parents[2]
PMDAS = Path("/var/lib/pcp/pmdas")
NOWHERE = "http://127.0.0.1:9"
AGENTS = f"""\
root 1 pipe binary {PMDAS}/root/pmdaroot
pmcd 2 dso pmcd_init {PMDAS}/pmcd/pmda_pmcd.so
proc 3 pipe binary {PMDAS}/proc/pmdaproc -d 3
linux 60 pipe binary {PMDAS}/linux/pmdalinux
sample 29 pipe binary {PMDAS}/sample/pmdasample -d 29
"""


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


def wait_until(check: Callable[[], Any], seconds: float = 15.0) -> None:
    """Wait until a check holds; fails when it does not in time."""
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)


def name_space() -> str:
    """PCP's own name space, and that of its sample agent."""
    root = Path("/var/lib/pcp/pmns/root").read_text()
    sample = (PMDAS / "sample/pmns").read_text().replace("SAMPLE", "29")
    return root.replace("root {", "root {\n\tsample", 1) + sample


class Server:
    """A process that is ended with the test, whatever happens."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def launch(self, command: Sequence[str], **env: str) -> None:
        """Start it; it gets SIGTERM should this process die."""
        with (self.folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *command],
                cwd=ROOT,
                env=os.environ | env,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit status."""
        assert self._process
        self._process.send_signal(number)
        return self._process.wait(20)

    def ended(self) -> int | None:
        """The exit status, None while it runs."""
        assert self._process
        return self._process.poll()

    def clean(self) -> None:
        """End it if it still runs."""
        if self._process and self._process.poll() is None:
            self.end(signal.SIGKILL)

    def output(self) -> str:
        return (self.folder / "output").read_text()


class Pmcd(Server):
    """A PMCD of our own with the sample agent."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in ("run", "tmp", "log"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "pmns").write_text(name_space())
        (folder / "pmcd.conf").write_text(AGENTS)
        self.socket = folder / "run/pmcd.socket"
        self.address = f"unix://{self.socket}"

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        dirs = {f"PCP_{n.upper()}_DIR": str(self.folder / n) for n in ("run", "tmp")}
        options = [*("-n", "pmns"), *("-c", "pmcd.conf"), *("-l", "log/pmcd.log")]
        paths = [w if w.startswith("-") else str(self.folder / w) for w in options]
        self.launch(
            [
                *("/usr/lib/pcp/bin/pmcd", "-f", "-A", "-U", "root", *paths),
                *("-i", "127.0.0.1", "-p", str(free_port()), "-s", str(self.socket)),
            ],
            **dirs,
            PCP_LOG_DIR=str(self.folder / "log"),
        )
        wait_until(lambda: self._run("pminfo", "-f", "pmcd.version").returncode == 0)

    def store(self, metric: str, value: str) -> None:
        """Set a metric of the sample agent."""
        done = self._run("pmstore", metric, value)
        assert done.returncode == 0, done.stderr

    def kill_agents(self) -> None:
        """Kill its agents as kill -9 does; it starts them again by itself."""
        log = (self.folder / "log/pmcd.log").read_text()
        table = log.rpartition("active agent dom")[2]
        for pid in re.findall(r"^\w+ +\d+ +(\d+) .* bin pipe", table, re.MULTILINE):
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

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.launch(
            [
                str(ROOT / ".tools/victoria-metrics"),
                f"-storageDataPath={self.folder / 'data'}",
                f"-httpListenAddr=127.0.0.1:{self.port}",
                *("-search.latencyOffset=0s", "-dedup.minScrapeInterval=1ms"),
                "-loggerLevel=ERROR",
            ]
        )
        wait_until(lambda: answers(f"{self.url}/health"))

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

    def peek(self, name: str) -> list[int]:
        """Milliseconds of a series' points as a query finds them now."""
        answer = self._export(name)
        return sorted(json.loads(answer.text)["timestamps"]) if answer.text else []

    def _export(self, match: str) -> httpx.Response:
        """Points up to the millisecond: without an end, up to the whole second only."""
        params = {"match[]": match, "end": str(time.time() + 5)}
        return httpx.get(f"{self.url}/api/v1/export", params=params)

    def label_values(self, label: str) -> list[str]:
        """All values that a label has."""
        answer = httpx.get(f"{self.url}/api/v1/label/{label}/values")
        found: list[str] = answer.json()["data"]
        return found


def _instance(labels: Mapping[str, str]) -> str:
    return f"{{{labels['instname']}}}" if "instname" in labels else ""


def answers(url: str) -> bool:
    """Whether something answers well at an address."""
    try:
        return httpx.get(url, timeout=5).is_success
    except httpx.HTTPError:
        return False


class Fuseki(Server):
    """A graph store with one dataset in memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        jar = next((ROOT / ".tools/fuseki").glob("jena-fuseki-server-*.jar"))
        (self.folder / "config.ttl").write_text(_FUSEKI)
        self.launch(
            [
                *("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-jar", str(jar)),
                *("--port", str(self.port), "--localhost"),
                *("--config", str(self.folder / "config.ttl")),
            ],
            FUSEKI_BASE=str(self.folder),
        )
        wait_until(lambda: answers(f"{self.url}/$/ping"), 40.0)


_FUSEKI = """\
PREFIX fuseki: <http://jena.apache.org/fuseki#>
PREFIX tdb2: <http://jena.apache.org/2016/tdb#>
[] a fuseki:Service ; fuseki:name "twin" ;
  fuseki:endpoint [ fuseki:operation fuseki:query ; fuseki:name "sparql" ] ;
  fuseki:endpoint [ fuseki:operation fuseki:update ; fuseki:name "update" ] ;
  fuseki:dataset [ a tdb2:DatasetTDB2 ; tdb2:location "--mem--" ;
    tdb2:unionDefaultGraph true ] .
"""


class BridgeProcess(Server):
    """The bridge as the supervisor starts it; ``state`` outlives its restarts."""

    def __init__(self, folder: Path, pmcd: str, store: str, **options: str) -> None:
        super().__init__(folder)
        self.state = folder / "state"
        self.state.mkdir(exist_ok=True)
        self.options = {
            "host": "n1",
            "pcp": pmcd,
            "fuseki": NOWHERE,
            "base": "http://localhost:8000",
            "store": store,
            "state": str(self.state),
            "log-max-bytes": "100000000",
            **{name.replace("_", "-"): value for name, value in options.items()},
        }

    def plan(self, metrics: Sequence[str], period: float) -> None:
        """The plan as an earlier process kept it."""
        rows = [
            {
                "samplerName": name,
                "dbName": name.replace(".", "_"),
                "period": period,
            }
            for name in metrics
        ]
        save_plan(self.state / "plan.json", make_plan(rows))

    def launch_only(self) -> None:
        """Start it without waiting for its status."""
        words = [f"--{name}={value}" for name, value in self.options.items()]
        self.launch([sys.executable, "-m", "sampler_bridge", *words])

    def start(self) -> None:
        self.launch_only()
        wait_until(lambda: self.ended() is not None or self._has_status())

    def status(self) -> dict[str, Any]:
        """What it says about itself."""
        found: dict[str, Any] = json.loads((self.state / "status.json").read_text())
        return found

    def wait_for(self, check: Callable[[dict[str, Any]], Any]) -> None:
        """Wait until its status is as it should be."""
        wait_until(lambda: self.ended() is not None or check(self.status()))
        assert self.ended() is None, self.output()

    def _has_status(self) -> bool:
        path = self.state / "status.json"
        return path.exists() and self.status()["pid"] == self.pid


def closes(status: Mapping[str, Any]) -> bool:
    """Whether every expected point is written, missing or queued."""
    missing = sum(status["missing"].values())
    waiting = status["queue"]["points"]
    return bool(status["expected"] == status["written"] + missing + waiting)
