"""Which events a run counts in its regions, and the figures that follow from them.

A thread counts its own events, so an event of a cache or socket has a reason instead.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from core.stores.endpoint import Endpoint
from ingest.pmu.pfm import read_events
from observations.derived import ExpressionFigure, derive_figures
from observations.record import DerivedFigure, RunSpec
from observations.regions.recording import MOST_EVENTS
from observations.regions.regions import EventCount, Region, RegionRecord
from sampling.counters.perfevent import prepare
from sampling.errors import PerfeventError
from sampling.events.choice import SOFTWARE, RoleFormula, SelectedEvent

_SOFTWARE, _RAW = 1, 4  # types of perf_event_open
# In the order of the kernel's perf_sw_ids.
_SOFTWARE_IDS = (
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
)
_THREAD, _DEVICE = "thread", "device"


@dataclass(frozen=True)
class CountedRole:
    """A role as a weighted sum of events, or the reason why regions have no value."""

    name: str
    unit: str = ""
    terms: tuple[tuple[Decimal, str], ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class RegionCounting:
    """The events as the recorder's request has them, the roles, and named events.

    ``expressions`` are the figures of the processor.
    """

    events: tuple[Mapping[str, Any], ...] = ()
    roles: tuple[CountedRole, ...] = ()
    named: frozenset[str] = frozenset()
    expressions: tuple[ExpressionFigure, ...] = ()


def read_counting(twin: Endpoint, spec: RunSpec) -> RegionCounting:
    """Return what a run counts in its regions; raises QueriesError."""
    if not (spec.regions and (spec.roles or spec.events)):
        return RegionCounting()
    try:
        choice = prepare(
            twin, spec.host, spec.roles, spec.events, multiplex=True
        ).choice
    except PerfeventError as error:
        text = str(error)
        return RegionCounting(
            roles=tuple(CountedRole(n, reason=text) for n in spec.roles)
        )
    named = {str(one.event) for one in choice.counted}
    named -= {str(event) for role in choice.roles for _, event in role.terms}
    found = {one.role: _role(one) for one in choice.roles}
    roles = [
        found.get(name) or CountedRole(name, reason=choice.refused.get(name, ""))
        for name in spec.roles
    ]
    return RegionCounting((*_events(choice.counted),), (*roles,), frozenset(named))


def _role(formula: RoleFormula) -> CountedRole:
    if formula.scope != _THREAD:
        reason = f"its events are counted for each {formula.scope}, not for a thread"
        return CountedRole(formula.role, formula.unit, reason=reason)
    terms = tuple((weight, str(event)) for weight, event in formula.terms)
    return CountedRole(formula.role, formula.unit, terms)


def _events(counted: Iterable[SelectedEvent]) -> Iterator[Mapping[str, Any]]:
    own = [one for one in counted if one.scope in (_THREAD, _DEVICE)]
    for one in own[:MOST_EVENTS]:
        yield {"name": str(one.event), **_code(one)}


def _code(one: SelectedEvent) -> Mapping[str, Any]:
    event = one.event
    if event.kernel and event.pmu == "software" and event.name in SOFTWARE:
        return {"type": _SOFTWARE, "config": _SOFTWARE_IDS.index(event.name)}
    if event.kernel:
        return {"device": event.pmu, "event": event.name}
    known = read_events({event.pmu: [event.name]}).get(event.pmu) or [{"encoding": []}]
    codes = [int(word, 16) for word in known[0]["encoding"]] or [one.code or 0]
    return {"type": _RAW, "config": codes[0], "config1": (*codes, 0)[1]}


def figures_of(
    record: RegionRecord, region: Region, counting: RegionCounting
) -> list[DerivedFigure]:
    """Return the totals of the roles in a region, and what follows from them."""
    counts = {one.event: one for one in record.counts(region)}
    totals = {role.name: _total(role, counts, region) for role in counting.roles}
    figures = derive_figures(totals, region.seconds, counting.expressions)
    return [*totals.values(), *figures]


def _total(
    role: CountedRole, counts: Mapping[str, EventCount], region: Region
) -> DerivedFigure:
    found = DerivedFigure(role.name, (role.name,), role.unit, reason=role.reason)
    if role.reason:
        return found
    parts = [(weight, counts.get(name)) for weight, name in role.terms]
    for (_, one), (_, name) in zip(parts, role.terms, strict=True):
        if one is None or one.reason:
            lacking = f"regions count {MOST_EVENTS} events: {name} is not among them"
            return replace(found, reason=one.reason if one else lacking)
    known = [(float(weight), one) for weight, one in parts if one]
    return replace(
        found,
        value=sum(weight * (one.value or 0.0) for weight, one in known),
        covered=region.seconds,
        dutycycle=min((one.dutycycle for _, one in known), default=1.0),
    )
