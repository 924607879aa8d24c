"""When ticks are due: multiples of the period by wall clock, in whole milliseconds."""

from typing import NamedTuple

_STEP_BACK_MS = 60_000


class Next(NamedTuple):
    """The next tick to wait for, and how many before it were missed."""

    tick_ms: int
    skipped: int


def first_tick(now_ms: int, period_ms: int) -> int:
    """The first multiple of the period after now."""
    return (now_ms // period_ms + 1) * period_ms


def next_tick(tick_ms: int, now_ms: int, period_ms: int) -> Next:
    """What comes after a tick; a value is never stamped with a tick that is not the
    nearest one, so ticks more than half a period ago are skipped.

    A clock set back by less than a minute is waited for, since its ticks have their
    values already; beyond that the new time holds.
    """
    due = tick_ms + period_ms
    if now_ms < tick_ms - _STEP_BACK_MS:
        return Next(first_tick(now_ms, period_ms), 0)
    skipped = max(0, -(-(now_ms - period_ms // 2 - due) // period_ms))
    return Next(due + skipped * period_ms, skipped)
