"""When ticks are due: multiples of the period by wall clock, in whole milliseconds."""

import math
from collections import deque
from typing import NamedTuple

_STEP_BACK_MS = 60_000


class NextTick(NamedTuple):
    """The next tick to wait for, and how many ticks before it were skipped."""

    tick_ms: int
    skipped: int


def first_tick(now_ms: int, period_ms: int) -> int:
    """The first multiple of the period after now."""
    return (now_ms // period_ms + 1) * period_ms


class FetchPace:
    """Distinguishes a delayed fetch from a fetch of a slow source.

    A fetch was delayed if it took more than two periods and more than four times as
    long as the fastest of the eight before. The moment of its values is then unknown.
    """

    def __init__(self) -> None:
        self._took_ms: deque[int] = deque(maxlen=8)

    def is_held_up(self, took_ms: int, period_ms: int) -> bool:
        """Whether a fetch was delayed, given how long it took."""
        quickest = min(self._took_ms, default=took_ms)
        self._took_ms.append(took_ms)
        return took_ms > max(2 * period_ms, 4 * quickest)


def tick_of(asked_ms: int, began_ms: int, ended_ms: int, period_ms: int) -> int | None:
    """The tick that the values of a fetch belong to: the one nearest to its middle.

    A source slower than a period thus fills ticks at the right times, and one fetch
    never fills two. None if a fetch was faster than a period but too late for its tick:
    the next tick has its own fetch.
    """
    middle = (began_ms + ended_ms) / 2
    if middle - asked_ms <= period_ms / 2:
        return asked_ms
    if ended_ms - began_ms < period_ms:
        return None
    return math.ceil(middle / period_ms - 0.5) * period_ms


def next_tick(tick_ms: int, now_ms: int, period_ms: int) -> NextTick:
    """The tick after ``tick_ms``; ticks more than half a period ago are skipped.

    A value is never stamped with a tick that is not the nearest one.
    """
    due = tick_ms + period_ms
    skipped = max(0, -(-(now_ms - period_ms // 2 - due) // period_ms))
    return NextTick(due + skipped * period_ms, skipped)


def is_set_back(tick_ms: int, now_ms: int, period_ms: int) -> bool:
    """Whether the clock was set back so far that a tick is not waited for.

    After a step of less than a minute, the sampler waits, since the ticks before this
    one already have values. After a longer step, the new time applies.
    """
    return now_ms < tick_ms - period_ms - _STEP_BACK_MS
