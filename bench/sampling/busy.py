"""How many ticks are kept while four busy loops load the machine.

A tick is kept if its values were fetched within half a period of it.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.sampling.counting import blocks
from bench.sampling.ground import HOST, Ground, running_bridge, stop_bridge
from bench.sampling.ticks import CLOCK, METRICS, started_ms, under_fifo
from bench.sampling.usage import agents
from core.linux.priority import FETCHING, NORMAL
from tests.servers import ENDS_WITH_US

LOOPS = 4
_WARM_UP = 2.0
_QUANTILES = (0.5, 0.99, 1.0)


@dataclass(frozen=True)
class Kept:
    """Numbers of ticks that were due, that arrived, and that were kept.

    ``off`` are the ms within which 50, 99 and 100 % of the arrived ticks were fetched.
    """

    due: int
    arrived: int
    kept: int
    off: tuple[float, float, float]

    @property
    def share(self) -> float:
        """Kept ticks in % of those that were due."""
        return 100 * self.kept / self.due


def kept(due: int, off: npt.NDArray[np.float64], period_ms: int) -> Kept:
    """Count ticks; ``off`` has the distance in ms of each that arrived."""
    size = np.abs(off)
    quantiles = [float(np.quantile(size, q)) if len(size) else 0.0 for q in _QUANTILES]
    half, most, all_ = quantiles
    in_time = int(np.count_nonzero(size <= period_ms / 2))
    return Kept(due, len(off), in_time, (half, most, all_))


def measure_kept(ground: Ground, seconds: int, period_ms: int, priority: str) -> Kept:
    """One run; PMCD and its agents get the same priority, as in `supertwin up`."""
    servers = [ground.pmcd.pid, *agents(ground.pmcd).values()]
    raised = [] if priority == NORMAL else servers
    with (
        under_fifo(raised, FETCHING),
        running_bridge(ground, METRICS, period_ms, priority=priority) as bridge,
        busy_loops(),
    ):
        time.sleep(_WARM_UP)
        began_ms = started_ms(ground.pmcd.address)
        start_ms = (time.time_ns() // 1_000_000 // period_ms + 1) * period_ms
        time.sleep(seconds + 0.1)
        stop_bridge(bridge)
    end_ms = start_ms + 1000 * seconds
    match = f'{CLOCK.replace(".", "_")}{{hostname="{HOST}"}}'
    off: list[npt.NDArray[np.float64]] = [np.zeros(0)]
    for block in blocks(ground.store, match, start_ms, end_ms):
        off.append(began_ms + block.values - block.stamps)
    return kept(1000 * seconds // period_ms, np.concatenate(off), period_ms)


@contextmanager
def busy_loops() -> Iterator[list[int]]:
    """Pids of four processes that never wait; they end with the block, and with us."""
    command = [*ENDS_WITH_US, sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command) for _ in range(LOOPS)]
    try:
        yield [loop.pid for loop in loops]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
