"""What the bridge costs and how fast it is: CPU, memory, latencies, bytes sent."""

import os
import time
from collections import deque
from pathlib import Path
from typing import Any

QUANTILES = {"p50": 0.5, "p99": 0.99, "max": 1.0}
_KEPT = 1000
_STATM = Path("/proc/self/statm")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Latency:
    """How long the last 1,000 calls took; any thread may add."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_KEPT)

    def add(self, seconds: float) -> None:
        """One more call."""
        self._seconds.append(seconds)

    def quantiles(self) -> dict[str, float]:
        """Seconds at each of QUANTILES; empty before the first call."""
        ordered = sorted(self._seconds.copy())
        if not ordered:
            return {}
        last = len(ordered) - 1
        return {
            name: round(ordered[round(share * last)], 6)
            for name, share in QUANTILES.items()
        }


class Cost:
    """What is measured while the bridge works; ``sent_bytes`` are those acknowledged,
    sent again or not.
    """

    def __init__(self) -> None:
        self.fetch = Latency()
        self.write = Latency()
        self.sent_bytes = 0

    def figures(self) -> dict[str, Any]:
        """All of it now: seconds and bytes."""
        return {
            "fetch_seconds": self.fetch.quantiles(),
            "write_seconds": self.write.quantiles(),
            "sent_bytes": self.sent_bytes,
            "cpu_seconds": round(time.process_time(), 3),
            "rss_bytes": rss_bytes(),
        }


def rss_bytes() -> int:
    """Memory of this process that is in RAM."""
    return int(_STATM.read_text().split()[1]) * _PAGE
