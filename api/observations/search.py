"""Recorded runs that the saved queries find, and repetitions taken together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.services import Services
from core.errors import ApiError
from core.stores.endpoint import JSON_RESULTS
from core.stores.results import read_rows
from queries.binding import Param
from queries.catalogue import SavedQuery, saved_query
from queries.errors import ParameterError

Row = dict[str, Any]

RUNS, BY_METRIC = "observations/runs", "observations/by-metric"
_METRIC = "metric"


@dataclass(frozen=True)
class Entry:
    """One run, or all repetitions of a group that were found, the latest first."""

    id: str
    runs: Sequence[Row]

    @property
    def outcomes(self) -> dict[str, int]:
        """How many ended how."""
        found: dict[str, int] = {}
        for run in self.runs:
            outcome = run["outcome"] or "unknown"
            found[outcome] = found.get(outcome, 0) + 1
        return found

    @property
    def seconds(self) -> float | None:
        """How long a run took; of several, their mean."""
        known = [float(r["seconds"]) for r in self.runs if r["seconds"] is not None]
        return sum(known) / len(known) if known else None


def asked_of() -> dict[str, SavedQuery]:
    """Which query each parameter of a search is of; who names none asks for all."""
    runs, measured = saved_query(RUNS), saved_query(BY_METRIC)
    return dict.fromkeys(measured.params, measured) | {
        name: runs for name in runs.params if name != "id"
    }


def params() -> list[Param]:
    """All parameters of a search, those of the runs themselves first.

    No metric is asked for unless one is named.
    """
    owners = asked_of()
    ordered = sorted(owners, key=lambda name: owners[name].name != RUNS)
    found = [owners[name].params[name] for name in ordered]
    return [replace(p, default=None) if p.name == _METRIC else p for p in found]


def misfits(given: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with each value that does not fit, by parameter."""
    owners, found = asked_of(), dict[str, str]()
    for name, value in given.items():
        try:
            owners[name].bind({name: value})
        except ParameterError as error:
            found[name] = str(error).removeprefix(f"parameter {name}: ")
    alone = [name for name in given if _needs_metric(name)]
    if alone and _METRIC not in given:
        found.setdefault(alone[0], "is a condition on a metric: name the metric too")
    return found


async def find_runs(services: Services, given: Mapping[str, str]) -> list[Row]:
    """The runs that fit all values, the latest first.

    Raises ApiError for a value that does not fit, and when the graph is away.
    """
    for name, error in misfits(given).items():
        detail = f"{name}: {error}"
        raise ApiError(400, "bad-parameter", "A parameter does not fit", detail)
    owners = asked_of()
    asked = {name: v for name, v in given.items() if owners[name].name == RUNS}
    runs = await rows(services, RUNS, asked)
    if _METRIC not in given or _METRIC in asked:
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
    """The rows of a saved query as Python values; raises GraphStoreError."""
    text = saved_query(name).bind(values)
    found = read_rows(await services.graph.query(text, JSON_RESULTS))
    return [dict(zip(found.columns, row, strict=True)) for row in found.values()]


def entries(runs: Sequence[Row], *, apart: bool = False) -> Iterator[Entry]:
    """Runs as they are listed; repetitions of a group as one, unless ``apart``."""
    groups: dict[str, list[Row]] = {}
    for run in runs:
        bare = str(run["run"]).rpartition("/")[2]
        groups.setdefault((not apart and run["group"]) or bare, []).append(run)
    return (Entry(id_, found) for id_, found in groups.items())


def _words(*texts: str | None) -> str | None:
    """The words of several texts, each once; None without any."""
    words = dict.fromkeys(word for text in texts if text for word in text.split())
    return " ".join(words) or None


def _needs_metric(name: str) -> bool:
    """Whether a value says nothing unless a metric is named."""
    return asked_of()[name].name == BY_METRIC and name != _METRIC
