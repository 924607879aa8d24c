"""Groups of runs compared: duration, measurements, and other differences."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from observations.comparison.compare import (
    DEFAULT_TOLERANCE,
    ComparisonVerdict,
    MeanEstimate,
    estimate,
    judge,
)
from observations.derived import less_is_better
from observations.errors import UnknownRunError
from observations.record import Outcome
from ontology.iris import IdError, Iris
from queries.run import Row, saved_rows, saved_rows_for_each

Series = tuple[str, str | None]
Judge = Callable[[Sequence[float], Sequence[float]], ComparisonVerdict]

DURATION = "duration"
_SECOND = "s"
_RUNS = "observations/runs"
# Their instances are pids, which differ in each run.
_OF_PROCESSES = "proc."
_TOTAL, _MEAN = "total", "mean"


@dataclass(frozen=True)
class RunGroup:
    """Runs that are treated as repetitions of the same command, under a name.

    Figures and properties are of the runs that ended by themselves.
    """

    name: str
    runs: Sequence[Row]
    figures: Mapping[Series, Sequence[Row]]
    properties: Mapping[str, frozenset[str]]

    @property
    def ended(self) -> list[Row]:
        """The runs that ended by themselves; interrupted ones prove nothing."""
        ended = (Outcome.COMPLETED, Outcome.FAILED)
        return [run for run in self.runs if run["outcome"] in ended]

    def is_context(self, metric: str) -> bool:
        """Whether a metric is state of the machine, such as a load average."""
        found = [rows for (name, _), rows in self.figures.items() if name == metric]
        rows = [row for one in found for row in one]
        return bool(rows) and _is_context(metric, rows)

    @property
    def durations(self) -> list[float]:
        """The seconds of each run that ended by itself."""
        return [float(run["seconds"]) for run in self.ended]

    def totals(self, metric: str) -> list[float]:
        """Sum a metric's totals, or else its means, over all instances for each run."""
        return _per_run(
            (row["run"], row["mean"] if row["total"] is None else row["total"])
            for (name, _), rows in self.figures.items()
            for row in (rows if name == metric else ())
        )


@dataclass(frozen=True)
class Measure:
    """One figure of all groups; the first group is the reference.

    ``what`` is duration, total or mean. If ``is_context``, the measure is state of the
    machine and has no verdicts. ``dutycycles`` are the least shares of the time in
    which its events had a counter: below 1 the values are extrapolated. ``spreads``:
    how far the passes differ that its values combine, in percent.
    """

    metric: str
    instance: str | None
    what: str
    unit: str | None
    is_context: bool
    estimates: Sequence[MeanEstimate | None]
    verdicts: Sequence[ComparisonVerdict | None]
    dutycycles: Sequence[float | None] = ()
    spreads: Sequence[float | None] = ()


@dataclass(frozen=True)
class RunComparison:
    """Groups, measures that at least two of them have, and other differences."""

    groups: Sequence[RunGroup]
    tolerance: float
    measures: Sequence[Measure]
    differences: Mapping[str, Sequence[Sequence[str]]]


def run_node(iris: Iris, id_: str) -> URIRef:
    """Return the IRI of a run from its id or IRI; raises UnknownRunError."""
    try:
        return iris.observation(id_.rpartition("/")[2])
    except IdError as error:
        raise UnknownRunError(f"no run {id_!r}: {error}") from None


def find_group(twin: Endpoint, iris: Iris, id_: str) -> RunGroup:
    """Find the run or group of repetitions of an id or IRI; raises UnknownRunError."""
    return _group(twin, id_, find_runs(twin, iris, id_))


def find_runs(twin: Endpoint, iris: Iris, id_: str) -> list[Row]:
    """Find a run, or the runs of a group, as `observations/runs` returns them.

    Raises UnknownRunError.
    """
    node = run_node(iris, id_)
    runs = saved_rows(twin, _RUNS, {"group": id_.rpartition("/")[2]})
    runs = runs or saved_rows(twin, _RUNS, {"id": node})
    if not runs:
        raise UnknownRunError(
            f"no run and no group {id_!r} is recorded: "
            "`supertwin query observations/runs` lists them"
        )
    return runs


def group_of(twin: Endpoint, name: str, runs: Sequence[str]) -> RunGroup:
    """Build a named group from the IRIs of at least one run."""
    return _group(twin, name, _rows(twin, _RUNS, runs))


def _group(twin: Endpoint, name: str, runs: Sequence[Row]) -> RunGroup:
    ordered = sorted(runs, key=lambda run: run["repetition"] or 0)
    group = RunGroup(name, ordered, {}, {})
    nodes = [run["run"] for run in group.ended]
    return replace(
        group, figures=_figures(twin, nodes), properties=_properties(twin, nodes)
    )


def compare(
    groups: Sequence[RunGroup], tolerance: float = DEFAULT_TOLERANCE
) -> RunComparison:
    """Compare groups with the first one.

    ``tolerance`` is the change that does not matter, as a fraction of the first group's
    mean.
    """
    durations = [group.durations for group in groups]
    fast = _judge(True, tolerance)
    measures = [_measure((DURATION, None), DURATION, _SECOND, durations, fast)]
    for series in sorted({s for g in groups for s in g.figures}, key=str):
        measures += _measures(series, groups, tolerance)
    # Results of the runs come first, state of the machine last.
    measures.sort(key=lambda measure: measure.is_context)
    return RunComparison(groups, tolerance, measures, _differences(groups))


def _measures(
    series: Series, groups: Sequence[RunGroup], tolerance: float
) -> Iterator[Measure]:
    """Measure a counter by its total, others by their mean, if two groups have it."""
    rows = [group.figures.get(series, ()) for group in groups]
    every = [row for found in rows for row in found]
    what = _what(every)
    values = [_per_run((row["run"], row[what]) for row in found) for found in rows]
    if sum(map(bool, values)) > 1:
        is_context = _is_context(series[0], every)
        judge_by = None if is_context else _judge(less_is_better(series[0]), tolerance)
        found = _measure(series, what, every[0]["unit"], values, judge_by)
        yield replace(
            found,
            dutycycles=[_known(min, one, "dutycycle") for one in rows],
            spreads=[_known(max, one, "spread") for one in rows],
        )


def _known(
    choose: Callable[[list[float]], float], rows: Iterable[Row], name: str
) -> float | None:
    """Return the least or greatest value of a column; None if it has no value."""
    found = [float(row[name]) for row in rows if row.get(name) is not None]
    return choose(found) if found else None


def _what(rows: Iterable[Row]) -> str:
    return _TOTAL if any(row["total"] is not None for row in rows) else _MEAN


def _is_context(metric: str, rows: Iterable[Row]) -> bool:
    """Whether a series is a gauge of the machine, which no run determines alone."""
    is_of_run = metric.startswith(_OF_PROCESSES) or any("figure" in row for row in rows)
    return not is_of_run and _what(rows) == _MEAN


def _per_run(values: Iterable[tuple[str, Any]]) -> list[float]:
    """Return the sum of the known values of each run."""
    found: dict[str, float] = {}
    for run, value in values:
        if value is not None:
            found[run] = found.get(run, 0.0) + float(value)
    return list(found.values())


def _judge(less_is_better: bool | None, tolerance: float) -> Judge:
    return partial(judge, less_is_better=less_is_better, tolerance=tolerance)


def _measure(
    series: Series,
    what: str,
    unit: str | None,
    values: Sequence[Sequence[float]],
    judge_by: Judge | None,
) -> Measure:
    """Build one figure of all groups; without a judge it is context."""
    first, *others = values
    verdicts = [
        judge_by(first, one) if judge_by and first and one else None for one in others
    ]
    estimates = [estimate(one) if one else None for one in values]
    return Measure(*series, what, unit, judge_by is None, estimates, verdicts)


def _figures(twin: Endpoint, runs: Sequence[str]) -> Mapping[Series, Sequence[Row]]:
    """Return the measurements by series; all processes of a run form one series."""
    found: dict[Series, list[Row]] = {}
    for row in _rows(twin, "observations/statistics", runs):
        is_of_process = row["metric"].startswith(_OF_PROCESSES)
        instance = None if is_of_process else row["instance"]
        found.setdefault((row["metric"], instance), []).append(row)
    for row in _rows(twin, "observations/derived", runs):
        what = {"mean": row["value"], "total": None}
        found.setdefault((row["figure"], None), []).append({**row, **what})
    return found


def _properties(twin: Endpoint, runs: Sequence[str]) -> Mapping[str, frozenset[str]]:
    """Return, by property, the values that the runs of a group had."""
    found: dict[str, set[str]] = {}
    for row in _rows(twin, "observations/properties", runs):
        found.setdefault(str(row["property"]), set()).add(str(row["value"]))
    return {name: frozenset(values) for name, values in found.items()}


def _differences(groups: Sequence[RunGroup]) -> Mapping[str, Sequence[Sequence[str]]]:
    """For each property that differs, list the values that not all groups share."""
    found = {}
    for name in sorted({name for group in groups for name in group.properties}):
        values = [group.properties.get(name, frozenset()) for group in groups]
        if len(set(values)) > 1:
            common = frozenset.intersection(*values)
            found[name] = [sorted(value - common) for value in values]
    return found


def _rows(twin: Endpoint, name: str, runs: Sequence[str]) -> list[Row]:
    """Run a saved query for several runs in one request."""
    if not runs:
        return []
    return saved_rows_for_each(twin, name, [{"id": run} for run in runs])
