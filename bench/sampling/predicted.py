"""The cost of sampling, predicted by a calibration of the same run, and measured."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.sampling.ground import HOST, Ground
from bench.sampling.usage import Usage, of_pcp
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from sampling.calibration.calibration import calibrate
from sampling.cost.estimate import DAY, estimate_all
from sampling.cost.fit import PredictionInterval
from sampling.cost.live import sizes_now
from sampling.cost.load import BRIDGE, STORE, SamplingLoad, load_of
from sampling.cost.model import CostModel
from sampling.plan_file.graph_plan import read_plan
from supertwin.stack.private_stack import private_stack


@dataclass(frozen=True)
class Comparison:
    """A predicted figure, the ends of its 95 % interval, and the measured figure."""

    what: str
    unit: str
    predicted: float
    low: float
    high: float
    measured: float

    @property
    def within(self) -> bool:
        """Whether the measured value lies in the interval."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True)
class Spent:
    """What a run used: points, series, seconds, bytes, and CPU and memory."""

    points: int
    series: int
    seconds: float
    bytes_of_points: int
    bytes_of_index: int
    usage: Mapping[str, Usage]


@dataclass(frozen=True)
class Predicted:
    """Predicted and measured figures, and the CPU of other work (% of a core)."""

    figures: Sequence[Comparison]
    others: float


def calibrated() -> CostModel:
    """Calibrate now; this takes about a minute."""
    with tempfile.TemporaryDirectory(prefix="supertwin-bench-") as folder:
        return calibrate(Settings(home=Path(folder)), print, private_stack)


def load_now(ground: Ground) -> SamplingLoad:
    """The load of the plan in the graph, as `supertwin sample estimate` counts it."""
    sizes, _ = sizes_now(ground.pmcd.address)
    with Endpoint(f"{ground.fuseki.url}/twin") as twin:
        return load_of(read_plan(twin, HOST), sizes)


def compared(model: CostModel, load: SamplingLoad, spent: Spent) -> Predicted:
    """The predicted and the actual cost of a load."""
    figures = [*_used(model, load, spent), *_on_disk(model, load, spent)]
    return Predicted(figures, model.others)


def _used(model: CostModel, load: SamplingLoad, spent: Spent) -> list[Comparison]:
    cost, usage = estimate_all(model, load), spent.usage
    agents = cost.cpu_of(cost.cpu.keys() - {BRIDGE, STORE})
    found = [
        _comparison("CPU of PMCD and agents", "% of a core", agents, of_pcp(usage))
    ]
    for part in (BRIDGE, STORE):
        cpu, rss = usage[part]
        found.append(_comparison(f"CPU of {part}", "% of a core", cost.cpu[part], cpu))
        memory = cost.memory[part].times(1e-6)
        found.append(_comparison(f"memory of {part}", "MB", memory, rss))
    return found


def _on_disk(model: CostModel, load: SamplingLoad, spent: Spent) -> list[Comparison]:
    """For the actual number of points, and for one day."""
    whole = spent.bytes_of_points + spent.bytes_of_index
    run = model.disk.a_day(spent.points, spent.series)
    a_day = spent.bytes_of_points * DAY / spent.seconds + spent.bytes_of_index
    return [
        _comparison("disk, this run", "kB", run.times(1e-3), whole / 1e3),
        _comparison(
            "disk, a day",
            "kB",
            estimate_all(model, load).disk.times(1e-3),
            a_day / 1e3,
        ),
    ]


def _comparison(
    what: str, unit: str, of: PredictionInterval, measured: float
) -> Comparison:
    return Comparison(what, unit, of.value, of.low, of.high, measured)
