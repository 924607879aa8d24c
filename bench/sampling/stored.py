"""The points of a soak in the store, counted one by one, and those it lacks."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.sampling.counting import blocks, now_ms
from bench.sampling.ground import HOST
from bench.sampling.idle import INSTANCES
from tests.servers import VictoriaMetrics

_WINDOW_MS = 20_000
_LATER_MS = 60_000  # beyond the current time
_IDLE = re.compile(f"instname={INSTANCES}")
Labels = tuple[str, ...]
Stamps = npt.NDArray[np.int64]


class Kill(NamedTuple):
    """What was killed, when it was dead, and when it was restarted (Unix ms)."""

    what: str
    dead_ms: int
    started_ms: int


class Asked(NamedTuple):
    """Metrics at a period in ms, each with a series for every idle process."""

    metrics: Sequence[str]
    period_ms: int
    processes: int


@dataclass
class Stored:
    """The points of the host in the store.

    ``impossible`` points have a metric that was not requested, fall on no multiple of
    the period, or into the time without PMCD. ``first_ms`` and ``last_ms`` are the
    ends. Ticks in ``absent`` (ms) have no point of the idle processes; each has the
    number of points of all series at the tick before. At the other ticks, ``uneven``
    points of idle processes are missing.
    """

    points: int = 0
    series: int = 0
    twice: int = 0
    impossible: int = 0
    first_ms: int = 0
    last_ms: int = 0
    uneven: int = 0
    absent: list[tuple[int, int]] = field(default_factory=list)


def stored(
    store: VictoriaMetrics, since_ms: int, kills: Sequence[Kill], asked: Asked
) -> Stored:
    """Count every point of the host, one time span after another."""
    gaps = [(k.dead_ms, k.started_ms) for k in kills if k.what == "PMCD"]
    allowed = {name.replace(".", "_") for name in asked.metrics}
    found, series = Stored(), set()
    ticks = _Ticks(since_ms - asked.period_ms, asked.period_ms)
    for labels, stamps in _series(store, since_ms - asked.period_ms):
        series.add(labels)
        once = np.unique(stamps)
        found.points += len(once)
        found.twice += len(stamps) - len(once)
        wrong = once % asked.period_ms != 0
        for dead_ms, started_ms in gaps:
            wrong |= (once > dead_ms) & (once < started_ms)
        wrong |= labels[0] not in allowed
        found.impossible += int(np.count_nonzero(wrong))
        ticks.add(labels, once[~wrong])
    found.series = len(series)
    ticks.tell(found, len(asked.metrics) * asked.processes)
    return found


class _Ticks:
    """Points at each tick since a moment: of all series, and of idle processes."""

    def __init__(self, since_ms: int, period_ms: int) -> None:
        self._period_ms = period_ms
        self._first = since_ms // period_ms
        number = (now_ms() + 2 * _LATER_MS - since_ms) // period_ms
        self._all = np.zeros(number, np.int64)
        self._idle = np.zeros(number, np.int64)

    def add(self, labels: Labels, stamps: Stamps) -> None:
        """Count the points of a series."""
        places = stamps // self._period_ms - self._first
        self._all[places] += 1
        if any(map(_IDLE.fullmatch, labels)):
            self._idle[places] += 1

    def tell(self, found: Stored, each: int) -> None:
        """Set ends and missing points; ``each`` is the number of idle points a tick."""
        there = np.flatnonzero(self._all)
        if not len(there):
            return
        first, last = there[0], there[-1]
        found.first_ms = int(first + self._first) * self._period_ms
        found.last_ms = int(last + self._first) * self._period_ms
        idle = self._idle[first : last + 1]
        absent = np.flatnonzero(idle == 0)
        found.uneven = int(np.abs(each - idle[idle > 0]).sum())
        # For each tick, the last one up to it that has points.
        before = np.maximum.accumulate(np.where(idle > 0, np.arange(len(idle)), 0))
        stamps = found.first_ms + absent * self._period_ms
        points = self._all[first + before[absent]]
        found.absent = [*zip(stamps.tolist(), points.tolist(), strict=True)]


def _series(store: VictoriaMetrics, since_ms: int) -> Iterator[tuple[Labels, Stamps]]:
    """Name, labels and timestamps of each series, by time span up to now and beyond."""
    end_ms = now_ms() + _LATER_MS
    for start_ms in range(since_ms, end_ms, _WINDOW_MS):
        stamps = defaultdict(list)
        until_ms = min(start_ms + _WINDOW_MS, end_ms)
        for block in blocks(store, f'{{hostname="{HOST}"}}', start_ms, until_ms):
            rest = sorted(f"{k}={v}" for k, v in block.labels.items() if k[:2] != "__")
            stamps[(block.labels["__name__"], *rest)].append(block.stamps)
        for labels, pieces in stamps.items():
            yield labels, np.concatenate(pieces)
