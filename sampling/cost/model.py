"""A calibration: what was measured on a machine, and the fits that follow from it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Any

from core.linux.files import read_json, write_whole
from sampling.cost.disk import POINTS_A_BLOCK, DiskBlocks
from sampling.cost.errors import ModelError
from sampling.cost.fit import Fit, PredictionInterval, fit
from sampling.cost.load import BRIDGE, PMCD, STORE, AgentLoad, SamplingLoad, terms_of

FORMAT = "supertwin-cost/1"
DEFAULT = Path(__file__).with_name("default.json")
# CPU of other work, in % of one core, above which measurements are unreliable.
BUSY = 25.0


@dataclass(frozen=True)
class CalibrationRun:
    """One run: its load; by part, CPU in % of one core and memory in bytes.

    ``others`` is the CPU of other work, ``missing`` the share of points that are
    missing because the bridge could not keep up.
    """

    title: str
    load: SamplingLoad
    cpu: Mapping[str, float]
    rss: Mapping[str, int]
    others: float
    missing: float = 0.0


@dataclass(frozen=True)
class DiskModel:
    """Parts of stores; bytes of labels per series, and sent bytes per point."""

    parts: Sequence[DiskBlocks] = field(repr=False)
    labels: float
    sent: float

    @cached_property
    def fit(self) -> Fit:
        """Bytes by points and blocks."""
        return fit(
            ("points", "blocks"),
            [(float(part.points), float(part.blocks)) for part in self.parts],
            [float(part.bytes) for part in self.parts],
        )

    def a_day(self, points: float, series: float) -> PredictionInterval:
        """Bytes on disk for the points of a day, in so many series."""
        each = points / series if series else 0.0
        blocks = series * max(1.0, each / POINTS_A_BLOCK)
        labels, found = series * self.labels, self.fit.predict((points, blocks), False)
        return PredictionInterval(*(number + labels for number in found))


@dataclass(frozen=True)
class CostModel:
    """What sampling costs on a machine, as measured on one day.

    ``inside`` are agents without a process of their own: they run in that of PMCD.
    ``error`` is set for the default model, which was measured on another machine: the
    factor by which its ``cpu``, ``memory`` and ``disk`` may be wrong in either
    direction.
    """

    host: str
    date: str
    versions: Mapping[str, str]
    cpus: int
    inside: tuple[str, ...]
    disk: DiskModel
    runs: Sequence[CalibrationRun] = field(repr=False)
    error: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_default(self) -> bool:
        """Whether it was measured on another machine and came with SuperTwin."""
        return bool(self.error)

    @property
    def usable(self) -> list[CalibrationRun]:
        """The runs that the machine kept up with."""
        return [run for run in self.runs if run.missing <= 0.1]

    @property
    def others(self) -> float:
        """Mean CPU of other work during the runs, in % of one core."""
        return fmean(run.others for run in self.runs)

    @property
    def busy(self) -> bool:
        """Whether other work disturbed the measurement."""
        return self.others > BUSY

    @property
    def agents(self) -> list[str]:
        """The agents that were measured, each with some load."""
        with_load = {name for run in self.usable for name in run.load.agents}
        return sorted(with_load & {part for run in self.usable for part in run.cpu})

    @cached_property
    def cpu(self) -> dict[str, Fit]:
        """Fits of CPU in % of one core, by part."""
        return {
            part: fit(
                terms_of(part),
                [run.load.terms(part) for run in self.usable],
                [run.cpu[part] for run in self.usable],
            )
            for part in (PMCD, *self.agents, BRIDGE, STORE)
        }

    @cached_property
    def rss(self) -> dict[str, Fit]:
        """Fits of memory in bytes by the most series so far: none is freed.

        Runs before the first series are left out: a process then lacks memory that it
        will always need.
        """
        most = [*accumulate((run.load.series for run in self.runs), max)]
        rows = [(float(series),) for series in most if series]
        return {
            part: fit(
                ("series",),
                rows,
                [float(run.rss[part]) for run in self.runs][-len(rows) :],
            )
            for part in (BRIDGE, STORE)
        }


def save_model(path: Path, model: CostModel) -> None:
    """Save a calibration; the coefficients are for readers, the runs for loading."""
    document = {
        "format": FORMAT,
        **{name: getattr(model, name) for name in ("host", "date", "cpus", "versions")},
        "inside": list(model.inside),
        "disk": {**asdict(model.disk), "parts": [*map(list, model.disk.parts)]},
        "bytes": fit_document(model.disk.fit),
        "cpu": {part: fit_document(of) for part, of in model.cpu.items()},
        "rss": {part: fit_document(of) for part, of in model.rss.items()},
        "runs": [_written(run) for run in model.runs],
        **({"error": dict(model.error)} if model.error else {}),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(document, indent=1) + "\n")


def default_model() -> CostModel:
    """The model that comes with SuperTwin, for a machine that was not calibrated."""
    model = load_model(DEFAULT)
    if model is None:
        raise ModelError(f"{DEFAULT} is missing: reinstall SuperTwin")
    return model


def load_model(path: Path) -> CostModel | None:
    """The saved calibration; None if there is none. Raises ModelError."""
    try:
        document = read_json(path)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError("unexpected format")
        return _read(document)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(
            f"{path} is not a calibration: replace it with `supertwin sample calibrate`"
        ) from error


def fit_document(of: Fit) -> dict[str, Any]:
    """A fit for readers: coefficients with standard errors, and its quality."""
    pairs = zip(("base", *of.terms), of.coefficients, of.errors, strict=True)
    return {
        "coefficients": {
            name: {"value": float(value), "error": float(error)}
            for name, value, error in pairs
        },
        "r2": round(of.r2, 4),
        "worst_residual": of.worst,
        "measured_up_to": dict(zip(of.terms, map(float, of.most), strict=True)),
    }


def _written(run: CalibrationRun) -> dict[str, Any]:
    found = asdict(run)
    found["load"]["unknown"] = sorted(run.load.unknown)
    return found


def _read(document: Mapping[str, Any]) -> CostModel:
    model = CostModel(
        str(document["host"]),
        str(document["date"]),
        dict(document["versions"]),
        int(document["cpus"]),
        tuple(document["inside"]),
        _read_disk(document["disk"]),
        [_read_run(run) for run in document["runs"]],
        {str(of): float(factor) for of, factor in document.get("error", {}).items()},
    )
    if not model.cpu or not model.rss or not model.disk.fit:
        raise ValueError("nothing was measured")
    return model


def _read_disk(disk: Mapping[str, Any]) -> DiskModel:
    parts = [DiskBlocks(*map(int, part)) for part in disk["parts"]]
    return DiskModel(parts, float(disk["labels"]), float(disk["sent"]))


def _read_run(run: Mapping[str, Any]) -> CalibrationRun:
    load = dict(run["load"])
    agents = {name: AgentLoad(**of) for name, of in load.pop("agents").items()}
    unknown = frozenset(load.pop("unknown"))
    return CalibrationRun(
        **{**run, "load": SamplingLoad(**load, agents=agents, unknown=unknown)}
    )
