"""What sampling costs applications: the same work with and without it.

A stretch has a few cells and one run without sampling, in random order. Each cell is
compared with that run of its stretch, so that slow changes of the machine affect both.
One cell samples nothing too: it shows the error of the method.
"""

import math
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.sampling.applications import Application
from bench.sampling.ground import Ground, running_bridge
from bench.sampling.usage import Meter, Usage
from tests.sampler_bridge.servers import NOWHERE, BridgeProcess

_SETTLE = 1.5
_STEP = 1.02
NOTHING, AGAIN = "nothing", "nothing again"
SERIES = "sample.many.int"
# All from one agent; the first ones of this order are sampled.
METRICS = (
    "kernel.percpu.cpu.user",
    *(f"kernel.percpu.cpu.{name}" for name in ("sys", "idle", "nice", "wait.total")),
    *(f"kernel.percpu.cpu.{name}" for name in ("steal", "intr", "irq.soft")),
    *(f"kernel.all.{name}" for name in ("intr", "pswitch", "sysfork", "load")),
    *(f"mem.util.{name}" for name in ("free", "cached", "bufmem", "dirty")),
    *(f"mem.vmstat.{name}" for name in ("pgfault", "pgfree", "pgalloc_normal")),
    *(f"network.interface.{name}" for name in ("in.bytes", "out.bytes")),
    *(f"disk.dev.{name}" for name in ("read", "write", "avactive")),
)


@dataclass(frozen=True)
class Cell:
    """What is sampled: some metrics, or ``series`` of PCP's sample agent.

    If not ``shipped``, values are fetched, decoded and logged, but no store answers.
    """

    period_ms: int
    metrics: int = 0
    series: int = 0
    shipped: bool = True

    @property
    def label(self) -> str:
        what = f"{self.metrics} metrics" if self.metrics else f"{self.series:,} series"
        way = "" if self.shipped else ", not shipped"
        return f"{what} every {self.period_ms} ms{way}"


@dataclass(frozen=True)
class Run:
    """All applications once: seconds of each, and what the samplers used.

    ``noise`` counts the pieces of the noise loop by microseconds, in steps of 2 %.
    ``kept`` is the fetched share of the expected points, in %.
    """

    cell: str
    seconds: Mapping[str, float]
    noise: Mapping[int, int]
    usage: Mapping[str, Usage]
    kept: float


@dataclass(frozen=True)
class Stretch:
    """Runs in their order; one of them is without sampling."""

    runs: Sequence[Run]

    def run(self, cell: str) -> Run | None:
        """The run of a cell, if it is in this stretch."""
        return next((run for run in self.runs if run.cell == cell), None)


def stretches(
    cells: Sequence[Cell | None], size: int, repetition: int
) -> list[list[Cell | str]]:
    """Every cell once, and NOTHING once a stretch; None becomes AGAIN."""
    drawn = random.Random(repetition)
    left: list[Cell | str] = [cell or AGAIN for cell in cells]
    drawn.shuffle(left)
    found = []
    for start in range(0, len(left), size):
        stretch = [*left[start : start + size], NOTHING]
        drawn.shuffle(stretch)
        found.append(stretch)
    return found


def step_names(cells: Sequence[Cell | None], size: int, runs: int) -> list[str]:
    """The step names, ``repetition.stretch``."""
    number = -(-len(cells) // size)
    return [f"{r}.{n}" for r in range(1, runs + 1) for n in range(1, number + 1)]


def measure_stretches(
    ground: Ground,
    cells: Sequence[Cell | None],
    size: int,
    work: Sequence[Application],
    steps: Sequence[str],
) -> Iterator[tuple[str, Stretch]]:
    """Yield each step with its runs."""
    for step in steps:
        repetition, number = map(int, step.split("."))
        drawn = random.Random(step)
        order = stretches(cells, size, repetition)[number - 1]
        runs = [_run(ground, cell, drawn.sample(work, len(work))) for cell in order]
        yield step, Stretch(runs)


def _run(ground: Ground, cell: Cell | str, work: Sequence[Application]) -> Run:
    # The store still writes data of the previous run; that must not count for this one.
    time.sleep(_SETTLE)
    if isinstance(cell, str):
        return _applications(ground, cell, None, work)
    names = [SERIES] if cell.series else METRICS[: cell.metrics]
    if cell.series:
        ground.pmcd.store("sample.many.count", str(cell.series))
    store = ground.store.url if cell.shipped else NOWHERE
    with running_bridge(ground, names, cell.period_ms, store) as bridge:
        return _applications(ground, cell.label, bridge, work)


def _applications(
    ground: Ground,
    label: str,
    bridge: BridgeProcess | None,
    work: Sequence[Application],
) -> Run:
    """Run the applications one after another, with or without a bridge running."""
    before = _points(bridge)
    meter = Meter(ground.parts() | ({"bridge": bridge.pid} if bridge else {}))
    took = {one.name: one.run() for one in work}
    usage = meter.read()
    time.sleep(0.0 if bridge is None else 1.1)  # until the status file is current
    expected, fetched = (b - a for a, b in zip(before, _points(bridge), strict=True))
    return Run(
        label,
        {name: one.seconds for name, one in took.items()},
        rounded(next((one.histogram for one in took.values() if one.histogram), {})),
        usage,
        100 * fetched / expected if expected else 100.0,
    )


def rounded(pieces: Mapping[int, int]) -> Counter[int]:
    """A histogram with its times in steps of 2 %: exact ones would fill megabytes."""
    found: Counter[int] = Counter()
    for micros, number in pieces.items():
        found[round(_STEP ** round(math.log(max(micros, 1), _STEP)))] += number
    return found


def _points(bridge: BridgeProcess | None) -> tuple[int, int]:
    """Points expected and fetched so far."""
    if bridge is None:
        return 0, 0
    status = bridge.status()
    return status["expected"], status["fetched"]
