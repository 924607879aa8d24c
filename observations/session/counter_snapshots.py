"""Reads counters at one moment, from the same PMCDs as the bridge.

Counters are read just before and just after a run. So its totals leave out the parts of
the first and last tick that are outside the run.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from core.settings.state import read_json
from observations.statistics import CounterGrowth
from sampling.errors import PerfeventError, SourceDownError
from sampling.events.event import is_counter
from sampling.events.live import absent_metrics
from sampling.sources.local_metrics import is_local
from sampling.sources.pcp_source import PcpSource

Key = tuple[str, str | None]
Metrics = Mapping[str, Sequence[str]]
# A prefix of the metrics that have an instance for each process.
OF_PROCESSES = "proc."
_SourceMetrics = tuple[PcpSource, frozenset[str]]

# A busy bridge needs seconds to connect to another host.
_LOOK_SECONDS, _PATIENCE_SECONDS = 0.05, 15.0
# While both values stay the same, no agent of the PMCD has restarted, by PCP's
# definition of pmcd.seqnum. Old PMCDs lack it.
_PMCD_IDENTITY = ("pmcd.pid", "pmcd.seqnum")
_RESTARTED = (
    "its events were counted again during the run, as where another plan with PMU "
    "events came or went: run it again"
)
_MAYBE_RESTARTED = (
    "the API was restarted during the run, so it is unknown whether its events were "
    "counted again: run it again"
)


@dataclass(frozen=True)
class CounterSnapshot:
    """Values by PCP metric and instance, and when (Unix ms) they were read.

    ``restarted``: PMU events that may have restarted from 0 since the same reader's
    previous snapshot. ``agents`` is a text that changes when one of the agents that
    count restarts; empty if their PMCD does not tell. ``reader`` identifies the reader.
    """

    at_ms: float = 0.0
    values: Mapping[Key, float] = field(default_factory=dict)
    restarted: frozenset[str] = frozenset()
    agents: str = ""
    reader: str = ""

    @property
    def text(self) -> str:
        """The content of a snapshot's file."""
        found = {
            "at_ms": self.at_ms,
            "values": [[*key, value] for key, value in self.values.items()],
            "restarted": sorted(self.restarted),
            "agents": self.agents,
            "marker": self.reader,
        }
        return json.dumps(found) + "\n"


class RunSnapshots(NamedTuple):
    """The counters just before a run and at its end."""

    before: CounterSnapshot
    after: CounterSnapshot

    def doubt_about(self, metric: str) -> str:
        """Say why a metric's growth may be wrong for the run; empty if it is right."""
        if metric in self.after.restarted:
            return _RESTARTED
        if not is_counter(metric) or not self.before.values or not self.after.values:
            return ""
        if self.before.agents and self.after.agents:
            return "" if self.before.agents == self.after.agents else _RESTARTED
        # A reader that took both snapshots has noticed every restart between them.
        return "" if self.before.reader == self.after.reader else _MAYBE_RESTARTED

    def growth(self, key: Key) -> CounterGrowth | None:
        """Return the growth of a counter; None if a snapshot lacks it.

        The counters of a process that started during the run began at zero.
        """
        after, before = self.after.values.get(key), self.before.values.get(key)
        if before is None and key[0].startswith(OF_PROCESSES) and self.before.at_ms:
            before = 0.0
        if after is None or before is None:
            return None
        seconds = (self.after.at_ms - self.before.at_ms) / 1000
        return CounterGrowth(after - before if after >= before else after, seconds)


def read_snapshot(path: Path) -> CounterSnapshot | None:
    """Read the snapshot in a file; None if there is no complete one."""
    try:
        found = json.loads(path.read_text("utf-8"))
        values = {(name, one): value for name, one, value in found["values"]}
        return CounterSnapshot(
            found["at_ms"],
            values,
            frozenset(found.get("restarted", ())),
            str(found.get("agents", "")),
            str(found.get("marker", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


class CounterReader:
    """Reads the same metrics of a host repeatedly, from the addresses of the bridge.

    It connects in a separate thread, so that only `snapshot` waits; sources that do not
    answer are left out. ``counters`` is the address of the host's PMU events; without
    it, wait until the bridge has connected to them.
    """

    def __init__(
        self, bridge: Path, host: str, metrics: Iterable[str] = (), counters: str = ""
    ) -> None:
        self._sources: Future[list[_SourceMetrics]] = Future()
        self._changes: dict[str, int] = {}
        self._id = secrets.token_hex(8)
        if names := [*metrics]:
            addresses = partial(_by_address, bridge, host, names, counters)
            Thread(target=self._connect, args=(addresses,), daemon=True).start()
        else:
            self._sources.set_result([])

    def snapshot(self) -> CounterSnapshot:
        """Read the current values; raises the errors of connecting."""
        sources = self._sources.result()
        began = time.time()
        values: dict[Key, float] = {}
        agents = ""
        for source, names in sources:
            with suppress(SourceDownError):
                found = _values(source)
                values |= {key: one for key, one in found.items() if key[0] in names}
                agents = _agents(found) if any(map(is_counter, names)) else agents
        at_ms = 500 * (began + time.time())
        return CounterSnapshot(
            at_ms, values, frozenset(self._restarted(sources)), agents, self._id
        )

    def close(self) -> None:
        """Close the connections."""
        self._sources.add_done_callback(_close)

    def _connect(self, addresses: Callable[[], Metrics]) -> None:
        try:
            self._sources.set_result([*_connected(addresses())])
        except Exception as error:  # raised again by `snapshot`
            self._sources.set_exception(error)

    def _restarted(self, sources: Iterable[_SourceMetrics]) -> Iterator[str]:
        """Yield PMU events that may have restarted from 0, as their agent has."""
        for source, names in sources:
            before = self._changes.get(source.address, source.changes)
            self._changes[source.address] = source.changes
            if source.changes > before:
                yield from filter(is_counter, names)


def _close(sources: Future[list[_SourceMetrics]]) -> None:
    if sources.exception() is None:
        for source, _ in sources.result():
            source.close()


def _by_address(
    bridge: Path, host: str, metrics: Sequence[str], counters: str
) -> Metrics:
    """Return the metrics by the address that the bridge reads them from."""
    if not counters and (events := [*filter(is_counter, metrics)]):
        counters = _events_address(bridge, host, events)
    pcp = _bridge_status(bridge, host).get("pcp")
    found: dict[str, list[str]] = {}
    for name in metrics:
        address = counters if is_counter(name) else pcp
        if address and not is_local(name):
            found.setdefault(address, []).append(name)
    return found


def _events_address(bridge: Path, host: str, events: Sequence[str]) -> str:
    """Wait for the address where the bridge reads PMU events; empty after a timeout.

    The bridge's last status may be older than the plan and name another address.
    """
    until = time.monotonic() + _PATIENCE_SECONDS
    while not _has_events(
        found := str(_bridge_status(bridge, host).get("counters") or ""), events
    ):
        if time.monotonic() > until:
            return ""
        time.sleep(_LOOK_SECONDS)
    return found


def _has_events(address: str, events: Sequence[str]) -> bool:
    with suppress(PerfeventError):
        return bool(address) and not absent_metrics(address, events)
    return False


def _bridge_status(bridge: Path, host: str) -> Mapping[str, Any]:
    hosts = (read_json(bridge / "status.json") or {}).get("hosts") or {}
    found: Mapping[str, Any] = hosts.get(host, {})
    return found


def _connected(metrics: Metrics) -> Iterator[_SourceMetrics]:
    for address, names in metrics.items():
        source = PcpSource(address)
        more = _PMCD_IDENTITY if any(map(is_counter, names)) else ()
        source.select([*names, *more])
        with suppress(SourceDownError):
            source.connect()
            yield source, frozenset(names)


def _values(source: PcpSource) -> dict[Key, float]:
    sample = source.fetch()
    return {
        (series.metric, series.instance): value
        for column in sample.columns
        for series, value in zip(column.series, column.values.tolist(), strict=True)
        if series.text is None
    }


def _agents(values: Mapping[Key, float]) -> str:
    """Return a value that stays the same until one of the agents restarts."""
    told = [values.get((name, None)) for name in _PMCD_IDENTITY]
    return "" if None in told else " ".join(str(int(one or 0)) for one in told)
