"""When ticks are due: multiples of the period by wall clock, in whole milliseconds."""

import math
from collections import deque
from typing import NamedTuple

_STEP_BACK_MS = 60_000


class Next(NamedTuple):
    """The next tick to wait for, and how many before it were missed."""

    tick_ms: int
    skipped: int


def first_tick(now_ms: int, period_ms: int) -> int:
    """The first multiple of the period after now."""
    return (now_ms // period_ms + 1) * period_ms


class Pace:
    """Tells a fetch that was held up from one of a source that takes its time.

    Held up is what takes more than two periods, and more than four times as long as the
    quickest of the eight before: which of its moments the values are of, nobody knows.
    """

    def __init__(self) -> None:
        self._took_ms: deque[int] = deque(maxlen=8)

    def is_held_up(self, took_ms: int, period_ms: int) -> bool:
        """Whether a fetch was, by how long it took."""
        quickest = min(self._took_ms, default=took_ms)
        self._took_ms.append(took_ms)
        return took_ms > max(2 * period_ms, 4 * quickest)


def tick_of(asked_ms: int, began_ms: int, ended_ms: int, period_ms: int) -> int | None:
    """The tick whose values a fetch gave: the one that is nearest the fetch's middle.

    So a source that needs longer than a period still fills ticks of its own times, and
    never two with one fetch. None where a quicker one ended too late for the tick that
    it was for: the next tick has a fetch of its own.
    """
    middle = (began_ms + ended_ms) / 2
    if middle - asked_ms <= period_ms / 2:
        return asked_ms
    if ended_ms - began_ms < period_ms:
        return None
    return math.ceil(middle / period_ms - 0.5) * period_ms


def next_tick(tick_ms: int, now_ms: int, period_ms: int) -> Next:
    """What comes after a tick; a value is never stamped with a tick that is not the
    nearest one, so ticks more than half a period ago are skipped.
    """
    due = tick_ms + period_ms
    skipped = max(0, -(-(now_ms - period_ms // 2 - due) // period_ms))
    return Next(due + skipped * period_ms, skipped)


def is_set_back(tick_ms: int, now_ms: int, period_ms: int) -> bool:
    """Whether the clock was set back so far that a tick is not waited for any more.

    By less than a minute it is, since the ticks before it have their values already;
    beyond that the new time holds.
    """
    return now_ms < tick_ms - period_ms - _STEP_BACK_MS
