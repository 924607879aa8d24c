"""What to sample: read from the graph, saved in the state folder."""

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from core.linux.files import read_json, write_whole
from ontology.selectors import SERIES_NAME
from sampling.errors import PlanError
from sampling.plan_file.choice import ALL, InstanceSelection, MetricRequest, finest

_LOG = logging.getLogger(__name__)

CACHE_FORMAT = "supertwin-plan/1"
SHORTEST_MS = 1
LONGEST_MS = 3_600_000
_NO_NAME = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class PlannedMetric:
    """A metric at a period: PCP's name, the series' name, and which instances."""

    metric: str
    series: str
    period_ms: int
    choice: InstanceSelection = ALL


@dataclass(frozen=True)
class FetchGroup:
    """Metrics that are fetched together: series names and instances by metric."""

    names: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, InstanceSelection] = field(default_factory=dict)

    @property
    def only(self) -> frozenset[str] | None:
        """The instances of all metrics; None if a metric has others than named ones."""
        chosen = [self.choices.get(name, ALL).only for name in self.names]
        named = [some for some in chosen if some is not None]
        return frozenset[str]().union(*named) if len(named) == len(chosen) else None


@dataclass(frozen=True)
class SamplingPlan:
    """What one host is sampled for; ``refused`` says which metrics cannot be, and why.

    If several plans have the same series, the finest period applies. So a metric can
    have several periods, and each of its instances has one.
    """

    metrics: tuple[PlannedMetric, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """The metrics that are sampled."""
        return {planned.metric for planned in self.metrics}

    def groups(self) -> dict[int, FetchGroup]:
        """What is fetched together, by period in ms."""
        names: dict[int, dict[str, str]] = {}
        choices: dict[int, dict[str, InstanceSelection]] = {}
        for one in self.metrics:
            names.setdefault(one.period_ms, {})[one.metric] = one.series
            if not one.choice.is_all:
                choices.setdefault(one.period_ms, {})[one.metric] = one.choice
        return {ms: FetchGroup(of, choices.get(ms, {})) for ms, of in names.items()}


class StoredPlan(NamedTuple):
    """The saved state of a host: its plan, and the sockets of its agents' PMCDs."""

    plan: SamplingPlan = SamplingPlan()
    counters: str = ""
    agents: Mapping[str, str] = {}


def make_plan(rows: Iterable[Mapping[str, Any]]) -> SamplingPlan:
    """A plan from rows with ``samplerName``, ``dbName`` and ``period`` (seconds).

    A plan of some instances has ``some`` and a row for each ``instname``. A row that
    cannot be sampled is refused separately; the others remain.
    """
    refused: dict[str, str] = {}
    series: dict[str, str] = {}
    metric_requests: dict[str, list[MetricRequest]] = {}
    for row in rows:
        metric = str(row.get("samplerName") or "")
        try:
            planned = _planned(metric, row)
        except PlanError as error:
            refused[metric] = str(error)
            continue
        series[metric] = planned.series
        some = frozenset([str(row["instname"])]) if row.get("some") else None
        metric_requests.setdefault(metric, []).append(
            MetricRequest(planned.period_ms, some)
        )
    metrics = [
        PlannedMetric(metric, series[metric], period_ms, choice)
        for metric in _without_collisions(series, refused)
        for period_ms, choice in finest(metric_requests[metric])
    ]
    return SamplingPlan(tuple(metrics), refused)


def _planned(metric: str, row: Mapping[str, Any]) -> PlannedMetric:
    series = str(row.get("dbName") or "")
    if not SERIES_NAME.fullmatch(series):
        raise PlanError(f"{series!r} is not a series name: fix the metric's st:dbName")
    if not metric or _NO_NAME.search(metric):
        raise PlanError(f"{metric!r} is not a metric name: fix its st:samplerName")
    return PlannedMetric(metric, series, _period_ms(row.get("period")))


def _period_ms(seconds: Any) -> int:
    try:
        period = Decimal(str(seconds)) * 1000
        if SHORTEST_MS <= period <= LONGEST_MS and period == int(period):
            return int(period)
    except ArithmeticError:  # not a number, or an infinite one
        pass
    raise PlanError(
        f"a period of {str(seconds)[:40]} s is not possible: give whole milliseconds, "
        "0.001 to 3600 s"
    )


def _without_collisions(
    series: Mapping[str, str], refused: dict[str, str]
) -> list[str]:
    """The metrics, sorted, without those that share a series name with another."""
    by_series: dict[str, str] = {}
    for metric in sorted(series):
        other = by_series.setdefault(series[metric], metric)
        if other != metric:
            refused[metric] = (
                f"its series name {series[metric]} is already that of {other}: sample "
                "only one of them"
            )
    return list(by_series.values())


def split_plan(
    plan: SamplingPlan, is_first: Callable[[str], bool]
) -> tuple[SamplingPlan, SamplingPlan]:
    """Split a plan: the metrics for which ``is_first`` is true, and all others."""
    first = tuple(one for one in plan.metrics if is_first(one.metric))
    others = tuple(one for one in plan.metrics if not is_first(one.metric))
    return SamplingPlan(first), SamplingPlan(others, plan.refused)


def save_plan(
    path: Path,
    plan: SamplingPlan,
    counters: str = "",
    agents: Mapping[str, str] | None = None,
) -> None:
    """Save a plan and the agents' sockets for the next start; raises OSError."""
    rows = [_row(planned) for planned in plan.metrics]
    document = {
        "format": CACHE_FORMAT,
        "metrics": rows,
        "refused": dict(plan.refused),
        "counters": counters,
        "agents": dict(agents or {}),
    }
    write_whole(path, json.dumps(document, indent=1))


def _row(planned: PlannedMetric) -> dict[str, Any]:
    """What is sampled of a metric; without ``only``, all of it."""
    row = {name: getattr(planned, name) for name in ("metric", "series", "period_ms")}
    only, but = planned.choice
    named = {} if only is None else {"only": sorted(only)}
    return {**row, **named, **({"but": sorted(but)} if but else {})}


def load_plan(path: Path) -> StoredPlan | None:
    """The saved plan; None if there is none that can be read."""
    try:
        return _read(read_json(path))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        _LOG.warning(
            "%s is not a plan (%s): waiting for the plan of the graph store",
            path,
            error,
        )
    return None


def _read(document: object) -> StoredPlan:
    """Parse a saved plan; raises ValueError if save_plan did not write it."""
    match document:
        case {
            "format": str(form),
            "metrics": [*rows],
            "refused": dict(refused),
            "counters": str(counters),
            **rest,
        } if form == CACHE_FORMAT and not _NO_NAME.search(counters):
            plan = SamplingPlan(tuple(map(_read_planned, rows)), refused)
            if _is_sound(plan):
                return StoredPlan(plan, counters, _read_sockets(rest))
    raise ValueError("unexpected format")


def _read_sockets(rest: Mapping[Any, Any]) -> Mapping[str, str]:
    """The sockets of agents; earlier releases saved none."""
    found = rest.get("agents", {})
    if not isinstance(found, dict) or not all(
        isinstance(text, str) and not _NO_NAME.search(text)
        for pair in found.items()
        for text in pair
    ):
        raise ValueError("the agents have an unexpected format")
    return found


def _read_planned(row: object) -> PlannedMetric:
    match row:
        case {
            "metric": str(metric),
            "series": str(series),
            "period_ms": int(period),
            **rest,
        }:
            values = {"dbName": series, "period": Decimal(period) / 1000}
            try:
                planned = _planned(metric, values)
            except PlanError as error:
                raise ValueError(str(error)) from None
            return replace(planned, choice=_read_choice(rest))
    raise ValueError("a metric has an unexpected format")


def _read_choice(row: Mapping[Any, Any]) -> InstanceSelection:
    only = _read_names(row["only"]) if "only" in row else None
    return InstanceSelection(only, _read_names(row.get("but", [])))


def _read_names(names: object) -> frozenset[str]:
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return frozenset(names)
    raise ValueError("the instances of a metric have an unexpected format")


def _is_sound(plan: SamplingPlan) -> bool:
    """Whether each series name has one metric, and each metric a period only once."""
    pairs = {(one.metric, one.series) for one in plan.metrics}
    series = {one.series for one in plan.metrics}
    groups = {(one.metric, one.period_ms) for one in plan.metrics}
    texts = all(isinstance(reason, str) for reason in plan.refused.values())
    distinct = len(plan.names) == len(series) == len(pairs)
    return texts and distinct and len(groups) == len(plan.metrics)
