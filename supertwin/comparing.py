"""Runs side by side: how long they took, what was measured, and what else differs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from observations.compare import Estimate, Verdict, estimate, judge
from ontology.iris import Iris
from queries.catalogue import saved_query
from queries.endpoint import Endpoint
from supertwin.errors import MendableError

Row = dict[str, Any]
Series = tuple[str, str | None]

DURATION = "duration"
_SECOND = "s"


@dataclass(frozen=True)
class Group:
    """Runs that are taken for repetitions of the same, under a name."""

    name: str
    runs: Sequence[Row]
    figures: Mapping[Series, Sequence[Row]]
    properties: Mapping[str, frozenset[str]]

    @property
    def durations(self) -> list[float]:
        """Seconds of each run, of those that ended by themselves."""
        return [
            float(run["seconds"]) for run in self.runs if run["seconds"] is not None
        ]

    def totals(self, metric: str) -> list[float]:
        """Of each run the total of a metric over its instances; else the mean's sum."""
        found: dict[str, float] = {}
        for (name, _), rows in self.figures.items():
            for row in rows if name == metric else ():
                value = row["mean"] if row["total"] is None else row["total"]
                if value is not None:
                    found[row["run"]] = found.get(row["run"], 0.0) + float(value)
        return list(found.values())


@dataclass(frozen=True)
class Measure:
    """One figure of all groups; the first is what the others are judged by.

    ``what`` is duration, total or mean.
    """

    metric: str
    instance: str | None
    what: str
    unit: str | None
    estimates: Sequence[Estimate | None]
    verdicts: Sequence[Verdict | None]


@dataclass(frozen=True)
class Comparison:
    """Groups, what was measured in at least two, and where they differ otherwise."""

    groups: Sequence[Group]
    measures: Sequence[Measure]
    differences: Mapping[str, Sequence[Sequence[str]]]


def find_group(twin: Endpoint, iris: Iris, id_: str) -> Group:
    """The run, or the group of repetitions, of an id or IRI; raises MendableError."""
    bare = id_.rsplit("/", 1)[-1]
    runs = _rows(twin, "observations/runs", {"ofGroup": bare})
    if not runs:
        node = str(iris.observation(bare))
        runs = _rows(twin, "observations/runs", {"id": node})
    if not runs:
        raise MendableError(
            f"no run and no group {id_!r} is recorded: "
            "`supertwin query observations/runs` lists them"
        )
    runs = sorted(runs, key=lambda run: run["repetition"] or 0)
    return Group(id_, runs, _figures(twin, runs), _properties(twin, runs))


def group_of(twin: Endpoint, name: str, runs: Sequence[str]) -> Group:
    """Runs by their IRIs, under a name."""
    found = [
        row for run in runs for row in _rows(twin, "observations/runs", {"id": run})
    ]
    return Group(name, found, _figures(twin, found), _properties(twin, found))


def compare(groups: Sequence[Group], less_is_better: bool = True) -> Comparison:
    """Set groups side by side, the first being the reference."""
    durations = [group.durations for group in groups]
    measures = [_measure(DURATION, None, DURATION, _SECOND, durations, less_is_better)]
    for series in sorted({s for g in groups for s in g.figures}, key=str):
        measures += _measures(series, groups)
    return Comparison(groups, measures, _differences(groups))


def _measures(series: Series, groups: Sequence[Group]) -> Iterator[Measure]:
    """A series as the total of a counter, else as its mean, if two groups have it."""
    rows = [group.figures.get(series, ()) for group in groups]
    every = [row for found in rows for row in found]
    what = "total" if any(row["total"] is not None for row in every) else "mean"
    values = [[float(r[what]) for r in found if r[what] is not None] for found in rows]
    if sum(map(bool, values)) > 1:
        yield _measure(*series, what, every[0]["unit"], values, True)


def _measure(
    metric: str,
    instance: str | None,
    what: str,
    unit: str | None,
    values: Sequence[Sequence[float]],
    less_is_better: bool,
) -> Measure:
    first, *others = values
    return Measure(
        metric,
        instance,
        what,
        unit,
        [estimate(one) if one else None for one in values],
        [
            judge(first, one, less_is_better=less_is_better) if first and one else None
            for one in others
        ],
    )


def _figures(twin: Endpoint, runs: Sequence[Row]) -> Mapping[Series, Sequence[Row]]:
    found: dict[Series, list[Row]] = {}
    for run in runs:
        for row in _rows(twin, "observations/statistics", {"id": run["run"]}):
            found.setdefault((row["metric"], row["instance"]), []).append(row)
    return found


def _properties(twin: Endpoint, runs: Sequence[Row]) -> Mapping[str, frozenset[str]]:
    """What all runs of a group ran in, by property."""
    rows = [
        (str(row["property"]), str(row["value"]))
        for run in runs
        for row in _rows(twin, "observations/properties", {"id": run["run"]})
    ]
    return {
        name: frozenset(value for _, value in found)
        for name, found in groupby(sorted(set(rows)), key=lambda row: row[0])
    }


def _differences(groups: Sequence[Group]) -> Mapping[str, Sequence[Sequence[str]]]:
    """Of each property that is not the same, what each group has and not all have."""
    found = {}
    for name in sorted({name for group in groups for name in group.properties}):
        values = [group.properties.get(name, frozenset()) for group in groups]
        if len(set(values)) > 1:
            common = frozenset.intersection(*values)
            found[name] = [sorted(value - common) for value in values]
    return found


def _rows(twin: Endpoint, name: str, values: Mapping[str, str]) -> list[Row]:
    rows = twin.select(saved_query(name).bind(values))
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.values()]
