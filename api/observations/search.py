"""Finds recorded runs by saved queries, and groups repetitions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.query_text import check_host
from api.services import Services
from core.errors import api_error
from queries.binding import Param
from queries.catalogue import SavedQuery, saved_query
from queries.errors import ParameterError

Row = dict[str, Any]

RUNS, BY_METRIC = "observations/runs", "observations/by-metric"
_METRIC = "metric"


@dataclass(frozen=True)
class SearchEntry:
    """One run, or all repetitions found of a group, the latest first."""

    id: str
    runs: Sequence[Row]

    @property
    def outcomes(self) -> dict[str, int]:
        """The number of runs by outcome."""
        found: dict[str, int] = {}
        for run in self.runs:
            outcome = run["outcome"] or "unknown"
            found[outcome] = found.get(outcome, 0) + 1
        return found

    @property
    def seconds(self) -> float | None:
        """The duration of the run; of several, their mean."""
        known = [float(r["seconds"]) for r in self.runs if r["seconds"] is not None]
        return sum(known) / len(known) if known else None


def queries_by_parameter() -> dict[str, SavedQuery]:
    """Map each search parameter to the query that it belongs to."""
    runs, measured = saved_query(RUNS), saved_query(BY_METRIC)
    return dict.fromkeys(measured.params, measured) | {
        name: runs for name in runs.params if name != "id"
    }


def params() -> list[Param]:
    """Return all parameters of a search, those of the runs first.

    The metric has no default here, so that a search without it ignores metrics.
    """
    owners = queries_by_parameter()
    ordered = sorted(owners, key=lambda name: owners[name].name != RUNS)
    found = [owners[name].params[name] for name in ordered]
    return [replace(p, default=None) if p.name == _METRIC else p for p in found]


def invalid_values(given: Mapping[str, str]) -> dict[str, str]:
    """Return what is wrong with each invalid value, by parameter."""
    owners, found = queries_by_parameter(), dict[str, str]()
    for name, value in given.items():
        try:
            owners[name].bind({name: value})
        except ParameterError as error:
            found[name] = error.problem
    alone = [name for name in given if _needs_metric(name)]
    if alone and _METRIC not in given:
        found.setdefault(alone[0], "is a condition on a metric: name the metric too")
    return found


async def find_runs(services: Services, given: Mapping[str, str]) -> list[Row]:
    """Return the runs that match all values, the latest first.

    Raises ApiError for an invalid value, and if the graph store is unreachable.
    """
    for name, error in invalid_values(given).items():
        raise api_error(ParameterError(error, name), parameter=name)
    await check_host(services, saved_query(RUNS), given)
    owners = queries_by_parameter()
    filters = {name: v for name, v in given.items() if owners[name].name == RUNS}
    runs = await rows(services, RUNS, filters)
    if _METRIC not in given or _METRIC in filters:
        return runs
    known = saved_query(BY_METRIC).params
    measured = {name: value for name, value in given.items() if name in known}
    found = await rows(services, BY_METRIC, measured)
    undecided = {row["run"]: row["undecided"] for row in found}
    return [
        {**run, "undecided": _words(run["undecided"], undecided[run["run"]])}
        for run in runs
        if run["run"] in undecided
    ]


async def rows(services: Services, name: str, values: Mapping[str, str]) -> list[Row]:
    """Return the rows of a saved query as Python values; raises EndpointError."""
    text = saved_query(name).bind(values)
    found = await services.graph.select(text)
    return [dict(zip(found.columns, row, strict=True)) for row in found.values()]


def entries(runs: Sequence[Row], *, apart: bool = False) -> Iterator[SearchEntry]:
    """Yield runs as list entries; one for a whole group, unless ``apart``."""
    groups: dict[str, list[Row]] = {}
    for run in runs:
        bare = str(run["run"]).rpartition("/")[2]
        groups.setdefault((not apart and run["group"]) or bare, []).append(run)
    return (SearchEntry(id_, found) for id_, found in groups.items())


def _words(*texts: str | None) -> str | None:
    """Return the distinct words of several texts; None if there are none."""
    words = dict.fromkeys(word for text in texts if text for word in text.split())
    return " ".join(words) or None


def _needs_metric(name: str) -> bool:
    """Whether a parameter is meaningless without a metric."""
    return queries_by_parameter()[name].name == BY_METRIC and name != _METRIC
