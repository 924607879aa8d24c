"""When threads began and ended what a recorder keeps: the longest slices of time.

This is a part of the runner's program, as `observations.recorder` is.
"""

from __future__ import annotations

import time
from typing import Any

# Of all threads together.
MOST_SLICES = 20_000


def longest_slices(slices: list[Any], most: int) -> tuple[list[Any], int]:
    """Return the longest slices by their end, and how many are left out.

    The last two elements of a slice are its begin and its end.
    """
    kept = sorted(slices, key=lambda one: one[-2] - one[-1])[:most]
    return sorted(kept, key=lambda one: one[-1]), len(slices) - len(kept)


def keep_longest_slices(threads: list[dict[str, Any]]) -> int:
    """Keep the longest slices of all threads; return how many are left out."""
    every = [
        (at, *one) for at, thread in enumerate(threads) for one in thread["slices"]
    ]
    kept, left_out = longest_slices(every, MOST_SLICES)
    for thread in threads:
        thread["slices"] = []
    for at, *one in kept:
        threads[at]["slices"].append(one)
    return left_out


def read_clocks() -> tuple[int, int]:
    """Return the monotonic clock and the wall clock in ns, read together."""
    readings = [
        (time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(3)
    ]
    before, wall, after = min(readings, key=lambda one: one[2] - one[0])
    return (before + after) // 2, wall


def set_wall_clock(
    threads: list[dict[str, Any]], first: tuple[int, int], last: tuple[int, int]
) -> None:
    """Convert slices from the monotonic clock to the wall clock.

    ``first`` and ``last`` are readings of both; between them, the clocks drift apart
    evenly.
    """
    passed, drift = max(last[0] - first[0], 1), last[1] - last[0] - first[1] + first[0]
    for thread in threads:
        for one in thread["slices"]:
            for at in (1, 2):
                since = one[at] - first[0]
                one[at] = first[1] + since + drift * since // passed
