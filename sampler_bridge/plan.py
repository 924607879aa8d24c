"""What to sample: read from the graph, kept in the state folder."""

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from ontology.selectors import SERIES_NAME
from sampler_bridge.errors import PlanError
from sampler_bridge.files import read_json, write_whole

_LOG = logging.getLogger(__name__)

CACHE_FORMAT = "supertwin-plan/1"
SHORTEST_MS = 1
LONGEST_MS = 3_600_000
_NO_NAME = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Planned:
    """One metric of the plan: PCP's name, the series' name, the period."""

    metric: str
    series: str
    period_ms: int


@dataclass(frozen=True)
class Plan:
    """What one host is sampled for; ``refused`` says which metrics cannot be, and why.

    Of several plans for one metric the finest period holds.
    """

    metrics: tuple[Planned, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    def periods(self) -> dict[int, dict[str, str]]:
        """Series name by metric, for each period in ms."""
        groups: dict[int, dict[str, str]] = {}
        for planned in self.metrics:
            groups.setdefault(planned.period_ms, {})[planned.metric] = planned.series
        return groups


def make_plan(rows: Iterable[Mapping[str, Any]]) -> Plan:
    """A plan from rows with ``samplerName``, ``dbName`` and ``period`` (seconds).

    A row that cannot be sampled is refused on its own; the others stand.
    """
    refused: dict[str, str] = {}
    finest: dict[str, Planned] = {}
    for row in rows:
        metric = str(row.get("samplerName") or "")
        try:
            planned = _planned(metric, row)
        except PlanError as error:
            refused[metric] = str(error)
            continue
        known = finest.get(metric)
        if known is None or planned.period_ms < known.period_ms:
            finest[metric] = planned
    metrics = _without_collisions(sorted(finest.values(), key=_name), refused)
    return Plan(tuple(metrics), refused)


def _name(planned: Planned) -> str:
    return planned.metric


def _planned(metric: str, row: Mapping[str, Any]) -> Planned:
    series = str(row.get("dbName") or "")
    if not SERIES_NAME.fullmatch(series):
        raise PlanError(f"{series!r} is no series name: mend the metric's st:dbName")
    if not metric or _NO_NAME.search(metric):
        raise PlanError(f"{metric!r} is no metric name: mend its st:samplerName")
    return Planned(metric, series, _period_ms(row.get("period")))


def _period_ms(seconds: Any) -> int:
    try:
        period = Decimal(str(seconds)) * 1000
        if SHORTEST_MS <= period <= LONGEST_MS and period == int(period):
            return int(period)
    except ArithmeticError:  # no number, or one without end
        pass
    raise PlanError(
        f"a period of {str(seconds)[:40]} s is not possible: give whole ms, "
        "0.001 to 3600 s"
    )


def _without_collisions(
    planned: Iterable[Planned], refused: dict[str, str]
) -> list[Planned]:
    by_series: dict[str, Planned] = {}
    for one in planned:
        other = by_series.setdefault(one.series, one)
        if other is not one:
            refused[one.metric] = (
                f"its series name {one.series} is already that of {other.metric}"
            )
    return list(by_series.values())


def parted(plan: Plan, is_first: Callable[[str], bool]) -> tuple[Plan, Plan]:
    """A plan as two: the metrics that ``is_first`` is true of, and all others."""
    first = tuple(one for one in plan.metrics if is_first(one.metric))
    others = tuple(one for one in plan.metrics if not is_first(one.metric))
    return Plan(first), Plan(others, plan.refused)


def save_plan(path: Path, plan: Plan) -> None:
    """Keep a plan for the next start; raises OSError."""
    rows = [asdict(planned) for planned in plan.metrics]
    document = {
        "format": CACHE_FORMAT,
        "metrics": rows,
        "refused": dict(plan.refused),
    }
    write_whole(path, json.dumps(document, indent=1))


def load_plan(path: Path) -> Plan | None:
    """The plan that was kept, None where there is none that can be read."""
    try:
        return _read(read_json(path))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        _LOG.warning("%s is no plan (%s): waiting for the graph's", path, error)
    return None


def _read(document: object) -> Plan:
    """Raises ValueError for what save_plan did not write."""
    match document:
        case {"format": str(form), "metrics": [*rows], "refused": dict(refused)}:
            plan = Plan(tuple(map(_read_planned, rows)), refused)
            if form == CACHE_FORMAT and _is_sound(plan):
                return plan
    raise ValueError("not of its form")


def _read_planned(row: object) -> Planned:
    match row:
        case {"metric": str(metric), "series": str(series), "period_ms": int(period)}:
            values = {"dbName": series, "period": Decimal(period) / 1000}
            try:
                return _planned(metric, values)
            except PlanError as error:
                raise ValueError(str(error)) from None
    raise ValueError("a metric is not of its form")


def _is_sound(plan: Plan) -> bool:
    metrics = {one.metric for one in plan.metrics}
    series = {one.series for one in plan.metrics}
    texts = all(isinstance(reason, str) for reason in plan.refused.values())
    return texts and len(metrics) == len(series) == len(plan.metrics)
