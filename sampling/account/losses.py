"""Points that were lost a moment ago: while there are any, the service is degraded."""

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from sampling.account.reasons import LOST, word

_SECONDS = 10
# Said of the first ticks after each start, before the source can have answered.
_STARTING = "was not reached yet"


class Losses:
    """Counts the lost points of the last 10 s by the words of their reasons.

    ``clock`` gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[int, str, int]] = deque()

    def add(self, points: int, reason: str) -> None:
        """Count points for a reason, unless their source has no value to lose."""
        said = word(reason)
        if points <= 0 or said not in LOST or _STARTING in reason:
            return
        second = int(self._clock())
        if self._seen and self._seen[-1][:2] == (second, said):
            points += self._seen.pop()[2]
        self._seen.append((second, said, points))

    def figures(self) -> dict[str, Any]:
        """How many points of the last so many seconds were lost, and why."""
        oldest = self._clock() - _SECONDS
        while self._seen and self._seen[0][0] < oldest:
            self._seen.popleft()
        reasons = Counter[str]()
        for _, said, points in self._seen:
            reasons[said] += points
        listed = dict(sorted(reasons.items()))
        return {"seconds": _SECONDS, "points": reasons.total(), "reasons": listed}


def losing_line(host: str, losing: Mapping[str, Any]) -> str:
    """What the figures of `Losses` say of a host, in one line."""
    listed = ", ".join(f"{why} {n:,}" for why, n in losing["reasons"].items())
    points, seconds = losing["points"], losing["seconds"]
    return f"points of {host} are lost: {points:,} in the last {seconds} s ({listed})"
