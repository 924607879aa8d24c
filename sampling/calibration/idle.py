"""Whether the machine is idle: all programs have used little CPU for long enough."""

import asyncio
import time
from collections.abc import Callable

from ontology.figures import figures
from sampling.cost.usage import machine_seconds

# The number of readings in the time that the machine has to be idle.
_LOOKS = 20
_SHORTEST_LOOK = 0.5


class IdleRule:
    """A machine is idle if its CPU use stayed below ``limit`` for ``seconds``.

    The limit is in % of one core. ``percent`` is the use between the last two readings.
    """

    def __init__(self, limit: float, seconds: float) -> None:
        self.limit, self.seconds, self.percent = limit, seconds, 0.0
        self._busy_until: float | None = None
        self._last = (0.0, 0.0)

    def is_idle(self, now: float, used: float) -> bool:
        """Take a reading: the time, and all CPU seconds used so far."""
        if self._busy_until is None:
            self._busy_until = now
        elif now > self._last[0]:
            then, before = self._last
            self.percent = 100 * (used - before) / (now - then)
            if self.percent >= self.limit:
                self._busy_until = now
        self._last = now, used
        return now - self._busy_until >= self.seconds


async def idle_machine(
    limit: float, seconds: float, say: Callable[[str], None]
) -> None:
    """Return when the machine has been idle; ``say`` gets the reason for waiting."""
    rule = IdleRule(limit, seconds)
    while not rule.is_idle(time.monotonic(), machine_seconds()):
        say(
            f"waits until the machine is idle for {figures(seconds)} s: "
            f"{rule.percent:.0f} % of a core is in use, the limit is {figures(limit)} %"
        )
        await asyncio.sleep(max(seconds / _LOOKS, _SHORTEST_LOOK))
