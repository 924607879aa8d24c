"""Recently lost points; while there are any, the service is degraded."""

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from sampling.account.reasons import GapCause, GapReason

_SECONDS = 10


class Losses:
    """Counts the lost points of the last 10 s by reason.

    ``clock`` returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[int, GapReason, int]] = deque()

    def add(self, points: int, cause: GapCause) -> None:
        """Count points, unless the source has no value or was only just started."""
        if points <= 0 or not cause.reason.is_loss or cause.is_start:
            return
        second = int(self._clock())
        if self._seen and self._seen[-1][:2] == (second, cause.reason):
            points += self._seen.pop()[2]
        self._seen.append((second, cause.reason, points))

    def figures(self) -> dict[str, Any]:
        """How many points were lost in the last seconds, and why."""
        oldest = self._clock() - _SECONDS
        while self._seen and self._seen[0][0] < oldest:
            self._seen.popleft()
        reasons = Counter[str]()
        for _, reason, points in self._seen:
            reasons[reason.value] += points
        listed = dict(sorted(reasons.items()))
        return {"seconds": _SECONDS, "points": reasons.total(), "reasons": listed}


def losing_line(host: str, losing: Mapping[str, Any]) -> str:
    """Describe the figures of `Losses` for a host in one line."""
    listed = ", ".join(f"{why} {n:,}" for why, n in losing["reasons"].items())
    points, seconds = losing["points"], losing["seconds"]
    return f"points of {host} are lost: {points:,} in the last {seconds} s ({listed})"
