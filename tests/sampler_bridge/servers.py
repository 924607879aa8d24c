"""The bridge as a process, with the servers that it needs."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ontology.iris import encode_id
from sampler_bridge.plan_watch import save_addresses
from sampling.plan_file.plan import make_plan, save_plan
from tests.servers import ROOT, Server, wait_until

NOWHERE = "http://127.0.0.1:9"


class BridgeProcess(Server):
    """The bridge as the supervisor starts it; ``state`` survives its restarts."""

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

    @property
    def own(self) -> Path:
        """The folder of the local host."""
        return self.of(self.options["host"])

    def of(self, host: str) -> Path:
        """The folder of a host."""
        return self.state / "hosts" / encode_id(host)

    def know(self, **addresses: str) -> None:
        """Register more hosts, as an earlier process would have kept them."""
        save_addresses(self.state / "hosts.json", addresses)

    def plan(
        self,
        metrics: Sequence[str],
        period: float,
        host: str = "",
        instances: Sequence[str] = (),
    ) -> None:
        """The plan of a host, else of the local one, as an earlier process kept it."""
        rows = [
            {
                "samplerName": name,
                "dbName": name.replace(".", "_"),
                "period": period,
                "some": bool(instances),
                "instname": instance,
            }
            for name in metrics
            for instance in instances or ("",)
        ]
        folder = self.of(host or self.options["host"])
        folder.mkdir(parents=True, exist_ok=True)
        save_plan(folder / "plan.json", make_plan(rows))

    def sample(self, metrics: Sequence[str], period: float) -> None:
        """Start the bridge with a plan."""
        self.plan(metrics, period)
        self.start()

    def launch_only(self, **env: str) -> None:
        """Start the bridge without waiting for its status."""
        options, accounts = dict(self.options), {}
        for name in ("fuseki", "store"):
            options[name], account = parted(options[name])
            accounts[f"SAMPLER_BRIDGE_{name.upper()}_ACCOUNT"] = account
        words = [f"--{name}={value}" for name, value in options.items()]
        command = [sys.executable, "-m", "sampler_bridge", *words]
        self.launch(command, cwd=ROOT, **accounts, **env)

    def start(self, **env: str) -> None:
        self.launch_only(**env)
        wait_until(lambda: self.ended() is not None or self._has_status())

    def status(self, host: str = "") -> dict[str, Any]:
        """The bridge's status of a host (default: the local one)."""
        folder = self.of(host) if host else self.own
        found: dict[str, Any] = json.loads((folder / "status.json").read_text())
        return found

    def process(self) -> dict[str, Any]:
        """The bridge's status of itself, with a summary of all hosts."""
        found: dict[str, Any] = json.loads((self.state / "status.json").read_text())
        return found

    def wait_for(self, check: Callable[[dict[str, Any]], Any], host: str = "") -> None:
        """Wait until the status of a host, else of the local one, meets a condition."""
        try:
            wait_until(lambda: self.ended() is not None or check(self.status(host)))
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.output()[-2000:]}") from None
        assert self.ended() is None, self.output()

    def _has_status(self) -> bool:
        path = self.state / "status.json"
        return path.exists() and self.process()["pid"] == self.pid


def parted(url: str) -> tuple[str, str]:
    """Split a URL into the address and its account ``user:password``."""
    parts = urlsplit(url)
    account, _, place = parts.netloc.rpartition("@")
    return parts._replace(netloc=place).geturl(), account


def closes(status: Mapping[str, Any]) -> bool:
    """Whether every expected point is written, missing or queued."""
    missing = sum(status["reasons"].values())
    waiting = status["queue"]["points"]
    return bool(status["expected"] == status["written"] + missing + waiting)
