"""The servers that all parts share, and bridges as they run in production."""

import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx

from bench.sampling.usage import agents
from tests.sampler_bridge.servers import BridgeProcess
from tests.servers import Fuseki, Pmcd, VictoriaMetrics

HOST = "bench"
BASE = "http://localhost:8000"
LOG_MAX_BYTES = str(1 << 30)  # the default of SUPERTWIN_LOG_MAX_BYTES
_AGENTS = ("pmdaproc", "pmdalinux", "pmdasample")
_SHORT_MS = 1000  # up to this period, wait for a first tick
_ST = "https://w3id.org/supertwin/ns#"


@dataclass(frozen=True)
class Ground:
    """One PMCD, one store, one graph store, and a folder for everything else."""

    folder: Path
    pmcd: Pmcd
    store: VictoriaMetrics
    fuseki: Fuseki

    def parts(self) -> dict[str, int]:
        """Pids of the processes that both competitors use."""
        found = agents(self.pmcd)
        own = {"pmcd": self.pmcd.pid, "store": self.store.pid}
        return own | {name: found[name] for name in _AGENTS}


@contextmanager
def open_ground(folder: Path, fuseki: Fuseki) -> Iterator[Ground]:
    """Start a PMCD and a store; they end with the block."""
    with ExitStack() as stack:
        yield Ground(
            folder,
            stack.enter_context(Pmcd(folder / "pmcd", sample=True)),
            stack.enter_context(VictoriaMetrics(folder / "store")),
            fuseki,
        )


@contextmanager
def running_bridge(
    ground: Ground,
    metrics: Sequence[str],
    period_ms: int,
    store_url: str | None = None,
    others: Mapping[str, str] | None = None,
    priority: str = "normal",
    process_reader: Path | None = None,
) -> Iterator[BridgeProcess]:
    """A bridge on a plan in the graph; its state is removed at the end.

    It is past its first tick or, with long periods, connected to PMCD. It writes to
    ``store_url`` or the shared store. ``others`` maps further hosts to the addresses of
    their PMCDs; they get the same plan. ``process_reader`` reads processes, not PCP.
    """
    put_plan(ground.fuseki, metrics, period_ms, others)
    folder = ground.folder / "bridge"
    bridge = BridgeProcess(
        folder,
        ground.pmcd.address,
        store_url or ground.store.url,
        host=HOST,
        fuseki=ground.fuseki.url,
        base=BASE,
        log_max_bytes=LOG_MAX_BYTES,
        priority=priority,
        **({"process_reader": str(process_reader)} if process_reader else {}),
    )
    try:
        with bridge:
            bridge.wait_for(lambda status: _samples(status, period_ms))
            assert bridge.status()["plan"]["metrics"] == len(metrics)
            yield bridge
    finally:
        shutil.rmtree(folder)


def _samples(status: Mapping[str, Any], period_ms: int) -> bool:
    if period_ms <= _SHORT_MS:
        return bool(status["expected"] > 0)
    return bool(status["plan"]["metrics"] and status["pcp"]["connected"])


def end_bridge(bridge: BridgeProcess) -> dict[str, Any]:
    """Stop a bridge in an orderly way; return its last status."""
    assert bridge.end() == 0, bridge.output()[-2000:]
    return bridge.status()


def stop_bridge(bridge: BridgeProcess) -> dict[str, int]:
    """Stop a bridge; return points missing since its start, by reason."""
    status = end_bridge(bridge)
    return missing(status) | {"still in the log": status["queue"]["points"]}


def missing(status: Mapping[str, Any]) -> dict[str, int]:
    """Missing points by word; full reasons name folders."""
    reasons: dict[str, int] = status["reasons"]
    return {word: points for word, points in reasons.items() if points}


def put_plan(
    fuseki: Fuseki,
    metrics: Sequence[str],
    period_ms: int,
    others: Mapping[str, str] | None = None,
) -> None:
    """Make this the only plan of the host, and of others by address."""
    addresses = {HOST: None, **(others or {})}
    insert = "".join(
        _graphs(host, address, metrics, period_ms)
        for host, address in addresses.items()
    )
    update = f"PREFIX st: <{_ST}> DROP ALL ; INSERT DATA {{ {insert} }}"
    httpx.post(f"{fuseki.url}/twin/update", data={"update": update}).raise_for_status()


def _graphs(
    host: str, address: str | None, metrics: Sequence[str], period_ms: int
) -> str:
    plans = "".join(_planned(host, metric, period_ms) for metric in metrics)
    graphs = f"GRAPH <{BASE}/graph/plans/{host}> {{ {plans} }}"
    if address is not None:
        known = f'<{BASE}/twin/{host}> st:address "{address}"'
        graphs += f"GRAPH <{BASE}/graph/register/{host}> {{ {known} }}"
    return graphs


def _planned(name: str, metric: str, period_ms: int) -> str:
    host, period = f"<{BASE}/twin/{name}>", Decimal(period_ms) / 1000
    return f"""
      {host} a st:ComputeNode ; st:hostname "{name}" .
      <{BASE}/metric/{metric}> a st:Metric ; st:samplerName "{metric}" ;
        st:dbName "{metric.replace(".", "_")}" ; st:semantics st:Counter ;
        st:valueType "u64" .
      <{BASE}/twin/{name}/plan/bench.{metric}> a st:SamplingPlan ;
        st:planName "bench" ; st:ofHost {host} ;
        st:samples <{BASE}/metric/{metric}> ; st:period {period:.3f} ."""


def period_of(hertz: int) -> int:
    """The longest whole period in ms that is no slower than a frequency.

    Plans have whole milliseconds: 16, 32 and 64 Hz become 62, 31 and 15 ms.
    """
    return math.floor(1000 / hertz)
