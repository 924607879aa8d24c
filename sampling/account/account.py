"""What became of every point: expected = written + missing + still queued."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

from sampling.account.losses import Losses
from sampling.account.reasons import by_word
from sampling.sources.source import Gap

LATE = "the bridge was late"
LOG_FULL = "the log was full"
SLOW_SOURCE = "the source answered too late"
REFUSED = "the store refused it"
UNREADABLE = "the log was damaged"


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
        self._missing: Counter[str] = Counter()
        self._losses = Losses()

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Stop other counting meanwhile, so that related counts change together.

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
                self._miss(gap.points, gap.reason)

    def skipped(self, points: int, reason: str) -> None:
        """Count points of ticks that gave no values at all."""
        with self._lock:
            self._expected += points
            self._miss(points, reason)

    def lost(self, points: int, reason: str) -> None:
        """Count points, expected before, that will not reach the store."""
        if points:
            with self._lock:
                self._miss(points, reason)

    def sent(self, written: int, again: int) -> None:
        """Count points that the store acknowledged, for the first time or again."""
        with self._lock:
            self._written += written
            self._resent += again

    def arrived(self, points: int, reason: str) -> None:
        """Count points as written that were counted as lost for a reason before."""
        with self._lock:
            self._missing[reason] -= points
            self._written += points

    def _miss(self, points: int, reason: str) -> None:
        self._missing[reason] += points
        self._losses.add(points, reason)

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
                "missing": {k: n for k, n in sorted(self._missing.items()) if n},
                "reasons": by_word(self._missing),
                "dropped": self._missing[LOG_FULL],
                "resent": self._resent,
                "losing": self._losses.figures(),
            }
