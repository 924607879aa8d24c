"""A period of 1 ms: how far from its time each tick was fetched.

One of the metrics is a clock: milliseconds since the sample agent was started. Its
start is found by requests: no answer is older than its request.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.sampling.counting import blocks
from bench.sampling.ground import HOST, Ground, running_bridge, stop_bridge
from bench.sampling.usage import agents
from core.linux.pmapi import Context, pmid_array
from sampling.sources.pcp_decode import decode

CLOCK = "sample.milliseconds"
METRICS = (
    CLOCK,
    "kernel.all.pswitch",
    "kernel.all.intr",
    "kernel.all.cpu.user",
    "kernel.all.cpu.sys",
    "kernel.all.cpu.idle",
    "kernel.all.cpu.irq.soft",
    "kernel.all.cpu.irq.hard",
)
_ASKED = 500
_QUANTILES = (0.5, 0.99, 0.999, 1.0)
_PRIORITY = 50
_WARM_UP = 2.0


@dataclass(frozen=True)
class Ticks:
    """Numbers of ticks that were due, that arrived, and that were in time.

    ``off`` are the ms within which 50, 99, 99.9 and 100 % of the arrived were fetched.
    """

    due: int
    arrived: int
    within: int
    off: tuple[float, float, float, float]

    @property
    def in_time(self) -> float:
        """Ticks within 1 ms of their time, in % of all that were due."""
        return 100 * self.within / self.due


def count_ticks(due: int, off: npt.NDArray[np.float64]) -> Ticks:
    """Count ticks; ``off`` has the distance in ms of each that arrived."""
    size = np.abs(off)
    quantiles = [float(np.quantile(size, q)) if len(size) else 0.0 for q in _QUANTILES]
    fifty, most, nearly, all_ = quantiles
    within = int(np.count_nonzero(size <= 1.0))
    return Ticks(due, len(off), within, (fifty, most, nearly, all_))


def measure_ticks(ground: Ground, seconds: int, who: str) -> Ticks:
    """One run; ``who`` is under SCHED_FIFO: nobody, bridge, or all with PMCD."""
    with running_bridge(ground, METRICS, 1) as bridge:
        found = agents(ground.pmcd)
        pids = {
            "nobody": [],
            "bridge": [bridge.pid],
            "all": [bridge.pid, ground.pmcd.pid, *found.values()],
        }[who]
        with under_fifo(pids, _PRIORITY):
            time.sleep(_WARM_UP)
            began_ms = started_ms(ground.pmcd.address)
            start_ms = time.time_ns() // 1_000_000 + 1
            time.sleep(seconds + 0.1)
        stop_bridge(bridge)
    due = 1000 * seconds
    match = f'{CLOCK.replace(".", "_")}{{hostname="{HOST}"}}'
    off: list[npt.NDArray[np.float64]] = [np.zeros(0)]
    for block in blocks(ground.store, match, start_ms, start_ms + due):
        off.append(began_ms + block.values - block.stamps)
    return count_ticks(due, np.concatenate(off))


def started_ms(address: str) -> float:
    """When the sample agent was started, in ms of Unix time.

    Taken as halfway between request and answer of the fastest exchange.
    """
    exchanges = []
    with Context(address) as context:
        wanted = pmid_array([context.identifier(CLOCK)])
        for _ in range(_ASKED):
            asked = time.time_ns()
            result = context.fetch(wanted)
            answered = time.time_ns()
            bits = decode(result.address, np.array([True])).bits
            middle = (asked + answered) / 2e6
            elapsed = float(bits.view(np.float64)[0])
            exchanges.append((answered - asked, middle - elapsed))
    return min(exchanges)[1]


@contextmanager
def under_fifo(pids: list[int], priority: int) -> Iterator[None]:
    """Give every thread of some processes a real-time priority for the block."""
    tasks = [path for pid in pids for path in Path(f"/proc/{pid}/task").iterdir()]
    threads = [int(path.name) for path in tasks]
    for thread in threads:
        os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
    try:
        yield
    finally:
        for thread in threads:
            if Path(f"/proc/{thread}").exists():
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def may_be_first() -> bool:
    """Whether this user may set real-time priorities."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True
