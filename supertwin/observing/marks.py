"""What counters say at one moment, asked of the PMCDs that the bridge asks, too.

Totals of a run are then of the run, and not of the ticks around it.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sampler_bridge.errors import PerfeventError, SourceDownError
from sampler_bridge.perfevent.event import is_counter
from sampler_bridge.perfevent.live import absent_metrics
from sampler_bridge.sources.local_metrics import is_local
from sampler_bridge.sources.pcp_source import PcpSource
from supertwin.stack.state import read_json

Key = tuple[str, str | None]

# A bridge that has much to do needs seconds to get to another host.
_LOOK_SECONDS, _PATIENCE_SECONDS = 0.05, 15.0


@dataclass(frozen=True)
class Mark:
    """Values by metric (as in PCP) and instance, and when (Unix ms) they were read.

    ``anew``: PMU events that may have been counted from 0 again since the mark before.
    """

    at_ms: float = 0.0
    values: Mapping[Key, float] = field(default_factory=dict)
    anew: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """What a file of it holds."""
        rows = [[*key, value] for key, value in self.values.items()]
        found = {"at_ms": self.at_ms, "values": rows, "anew": sorted(self.anew)}
        return json.dumps(found) + "\n"


def read_mark(path: Path) -> Mark | None:
    """The mark of a file; None where there is none that is whole."""
    try:
        found = json.loads(path.read_text("utf-8"))
        values = {(name, one): value for name, one, value in found["values"]}
        return Mark(found["at_ms"], values, frozenset(found.get("anew", ())))
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Marker:
    """Asks for the same metrics again and again; what does not answer is left out."""

    def __init__(self, metrics: Mapping[str, Sequence[str]]) -> None:
        self._sources = dict(_connected(metrics))
        self._metrics = metrics
        self._changes: dict[str, int] = {}

    def mark(self) -> Mark:
        """The values of now."""
        began = time.time()
        values: dict[Key, float] = {}
        for source in self._sources.values():
            with suppress(SourceDownError):
                values |= _values(source)
        return Mark(500 * (began + time.time()), values, frozenset(self._anew()))

    def _anew(self) -> Iterator[str]:
        """What the kernel counts outlives an agent; PMU events are its own counters."""
        for address, source in self._sources.items():
            before = self._changes.get(address, source.changes)
            self._changes[address] = source.changes
            if source.changes > before:
                yield from filter(is_counter, self._metrics[address])

    def close(self) -> None:
        """Ask no more."""
        for source in self._sources.values():
            source.close()


@contextmanager
def marking(
    bridge: Path, host: str, metrics: Iterable[str], counters: str = ""
) -> Iterator[Marker]:
    """Ask where the bridge of a state folder asks for metrics of a host.

    ``counters`` is where its PMU events are to be had; without it the bridge is waited
    for, which needs a moment to get there.
    """
    marker = Marker(_by_address(bridge, host, [*metrics], counters))
    try:
        yield marker
    finally:
        marker.close()


def _by_address(
    bridge: Path, host: str, metrics: Sequence[str], counters: str
) -> Mapping[str, Sequence[str]]:
    if not counters and (events := [*filter(is_counter, metrics)]):
        counters = _counters(bridge, host, events)
    pcp = _said(bridge, host).get("pcp")
    found: dict[str, list[str]] = {}
    for name in metrics:
        address = counters if is_counter(name) else pcp
        if address and not is_local(name):
            found.setdefault(address, []).append(name)
    return found


def _counters(bridge: Path, host: str, events: Sequence[str]) -> str:
    """Where the bridge has PMU events from; empty where it does not get there.

    What it said last may be of events before these.
    """
    until = time.monotonic() + _PATIENCE_SECONDS
    while not _has(found := str(_said(bridge, host).get("counters") or ""), events):
        if time.monotonic() > until:
            return ""
        time.sleep(_LOOK_SECONDS)
    return found


def _has(address: str, events: Sequence[str]) -> bool:
    with suppress(PerfeventError):
        return bool(address) and not absent_metrics(address, events)
    return False


def _said(bridge: Path, host: str) -> Mapping[str, Any]:
    hosts = (read_json(bridge / "status.json") or {}).get("hosts") or {}
    found: Mapping[str, Any] = hosts.get(host, {})
    return found


def _connected(metrics: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, PcpSource]]:
    for address, names in metrics.items():
        source = PcpSource(address)
        source.select(names)
        with suppress(SourceDownError):
            source.connect()
            yield address, source


def _values(source: PcpSource) -> dict[Key, float]:
    sample = source.fetch()
    return {
        (series.metric, series.instance): value
        for column in sample.columns
        for series, value in zip(column.series, column.values.tolist(), strict=True)
        if series.text is None
    }
