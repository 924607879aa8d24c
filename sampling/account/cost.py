"""What the bridge costs, how fast it is, and how accurate its ticks are."""

import os
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Mapping
from threading import Lock
from typing import Any

QUANTILES = {"p50": 0.5, "p99": 0.99, "max": 1.0}
OFFSETS = {"p50": 0.5, "p95": 0.95, "max": 1.0}
_KEPT = 1000
_FEW = 60
# Kept open: later there may be no file descriptor left for it.
_STATM = os.open("/proc/self/statm", os.O_RDONLY)
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Latency:
    """How long the last 1,000 calls took; any thread may add one.

    They are also kept in order: quantiles are asked for several times a second, also
    while a call is added only once a second.
    """

    def __init__(self) -> None:
        self._seconds: deque[float] = deque()
        self._ordered: list[float] = []
        self._lock = Lock()

    def add(self, seconds: float) -> None:
        """Add the duration of a call."""
        with self._lock:
            if len(self._seconds) == _KEPT:
                oldest = self._seconds.popleft()
                del self._ordered[bisect_left(self._ordered, oldest)]
            self._seconds.append(seconds)
            insort(self._ordered, seconds)

    def quantiles(self, shares: Mapping[str, float] = QUANTILES) -> dict[str, float]:
        """Seconds at each of the quantiles; empty before the first call."""
        with self._lock:
            last = len(self._ordered) - 1
            if last < 0:
                return {}
            at = {name: self._ordered[round(s * last)] for name, s in shares.items()}
        return {name: round(seconds, 6) for name, seconds in at.items()}


class TickOffset:
    """How far from their ticks the last 1,000 fetches began, in seconds."""

    def __init__(self) -> None:
        self._kept = Latency()
        self.last: float | None = None

    def add(self, at: float, period: float) -> None:
        """Add a fetch that began at a time (Unix seconds), for the nearest tick."""
        self.last = abs(at - round(at / period) * period)
        self._kept.add(self.last)

    def figures(self) -> dict[str, float]:
        """The last offset, and those at each of OFFSETS; empty before the first."""
        if self.last is None:
            return {}
        return {"last": round(self.last, 6), **self._kept.quantiles(OFFSETS)}


class ClockSkew:
    """How far another machine's clock is ahead of ours.

    The fastest of the last answers is the most precise: the other machine read its
    clock between question and answer.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque(maxlen=_FEW)

    def add(self, theirs: float, sent_at: float, took: float) -> None:
        """Add an answer: the time there, when we asked, and how long it took."""
        self._seen.append((took / 2, theirs - sent_at - took / 2))

    def figures(self) -> dict[str, float] | None:
        """Seconds ahead, and the uncertainty of that; None before any answer."""
        seen = self._seen.copy()
        if not seen:
            return None
        uncertainty, ahead = min(seen)
        return {"ahead": round(ahead, 6), "uncertainty": round(uncertainty, 6)}


class Cost:
    """What is measured while one host is sampled.

    Write times, CPU time and memory are those of the whole process.
    """

    def __init__(self, write: Latency) -> None:
        self.fetch = Latency()
        self.offset = TickOffset()
        self.clock = ClockSkew()
        self._write = write

    def figures(self) -> dict[str, Any]:
        """All measurements now."""
        return {
            "fetch_seconds": self.fetch.quantiles(),
            "write_seconds": self._write.quantiles(),
            "tick_offset_seconds": self.offset.figures(),
            "clock_seconds": self.clock.figures(),
            **process_cost(),
        }


def process_cost() -> dict[str, Any]:
    """CPU seconds and bytes of memory of this process."""
    return {
        "cpu_seconds": round(time.process_time(), 3),
        "rss_bytes": rss_bytes(),
    }


def rss_bytes() -> int:
    """Resident memory of this process, in bytes."""
    return int(os.pread(_STATM, 256, 0).split()[1]) * _PAGE
