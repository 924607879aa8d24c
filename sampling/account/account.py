"""What became of every point: expected = written + missing + still queued."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

from sampling.account.losses import Losses
from sampling.account.reasons import GapCause, GapReason, by_reason
from sampling.sources.source import Gap

LATE = GapCause(GapReason.LATE, "the bridge was late")
LOG_FULL = GapCause(GapReason.LOG_FULL, "the log was full")
SLOW_SOURCE = GapCause(GapReason.SLOW, "the source answered too late")
REFUSED = GapCause(GapReason.REFUSED, "the store refused it")
UNREADABLE = GapCause(GapReason.LOG_DAMAGED, "the log was damaged")


class Account:
    """Counts points since the bridge started; threads may share it.

    ``queued`` is how many points an earlier process left in the log; they are expected
    here.
    """

    def __init__(self, queued: int) -> None:
        self._lock = RLock()
        self._expected = queued
        self._carried = queued
        self._fetched = 0
        self._written = 0
        self._resent = 0
        self._last_tick_ms: int | None = None
        self._missing: Counter[GapCause] = Counter()
        self._losses = Losses()

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Block all other counting, so that related counts change together.

        Points enter and leave the log inside this block, so the sum holds at any time.
        """
        with self._lock:
            yield

    def ticked(self, tick_ms: int, fetched: int, gaps: Iterable[Gap]) -> None:
        """Count a tick that gave this many points for the log, and these gaps."""
        with self._lock:
            self._last_tick_ms = tick_ms
            self._fetched += fetched
            self._expected += fetched
            for gap in gaps:
                self._expected += gap.points
                self._miss(gap.points, gap.cause)

    def skipped(self, points: int, cause: GapCause) -> None:
        """Count points of ticks that gave no values at all."""
        with self._lock:
            self._expected += points
            self._miss(points, cause)

    def lost(self, points: int, cause: GapCause) -> None:
        """Count points, expected before, that will not reach the store."""
        if points:
            with self._lock:
                self._miss(points, cause)

    def sent(self, written: int, again: int) -> None:
        """Count points that the store acknowledged, for the first time or again."""
        with self._lock:
            self._written += written
            self._resent += again

    def arrived(self, points: int, cause: GapCause) -> None:
        """Count points as written that were counted as lost for a reason before."""
        with self._lock:
            self._missing[cause] -= points
            self._written += points

    def _miss(self, points: int, cause: GapCause) -> None:
        self._missing[cause] += points
        self._losses.add(points, cause)

    def losing(self) -> dict[str, Any]:
        """How many points were lost in the last seconds, and why."""
        with self._lock:
            return self._losses.figures()

    def figures(self) -> Mapping[str, Any]:
        """All counts at one moment, as the status file shows them."""
        with self._lock:
            return {
                "last_tick_ms": self._last_tick_ms,
                "expected": self._expected,
                "carried": self._carried,
                "fetched": self._fetched,
                "written": self._written,
                "late": self._missing[LATE],
                "missing": _by_detail(self._missing),
                "reasons": by_reason(self._missing),
                "dropped": self._missing[LOG_FULL],
                "resent": self._resent,
                "losing": self._losses.figures(),
            }


def _by_detail(missing: Mapping[GapCause, int]) -> dict[str, dict[str, int]]:
    """Points by reason and detail, without those that have no points."""
    found: dict[str, Counter[str]] = {}
    for cause, points in sorted(missing.items()):
        if points:
            found.setdefault(cause.reason.value, Counter())[cause.detail] += points
    return {reason: dict(details) for reason, details in found.items()}
