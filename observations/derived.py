"""Figures of a run: totals of roles, and what follows from these totals.

A role has a total only if its events were counted for the whole run and not for much
longer; otherwise the figure has a reason instead of a value. If events shared counters,
the total is an estimate, and its duty cycle shows it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import add, mul, sub, truediv
from typing import ClassVar

from ingest.pmu.figures import figure_formulas
from observations.errors import NotCountedError
from observations.record import DerivedFigure, Summary
from ontology.figures import figures
from virtual_telemetry.expression import (
    Expression,
    Input,
    Number,
    Operation,
    inputs_of,
)

_UNIT = "http://qudt.org/vocab/unit/"
# If the counted time is longer than this, too much of it lies outside the run.
_MOST_TIMES, _MOST_MORE = 2.0, 0.5

# Divisors: the seconds of the run, or, for power, the seconds that the total covers.
RUN_SECONDS, COVERED_SECONDS = "run", "covered"

_OPERATORS = {"+": add, "-": sub, "*": mul, "/": truediv}

Series = Mapping[tuple[str, str | None], Summary]


@dataclass(frozen=True)
class WeightedEvent:
    """An event of a role: its weight, and PCP's metrics of its value and duty cycle."""

    event: str
    weight: Decimal
    value: str
    dutycycle: str


@dataclass(frozen=True)
class HostRole:
    """A role on the host of a run: a weighted sum over events and instances.

    ``instances`` None means all of them. ``reason`` says why the host cannot count the
    role. If the events are counted ``apart``, each has instances of its own.
    """

    name: str
    unit: str = ""
    terms: tuple[WeightedEvent, ...] = ()
    instances: frozenset[str] | None = None
    reason: str = ""
    apart: bool = False

    @property
    def events(self) -> tuple[str, ...]:
        """Return its events."""
        return tuple(dict.fromkeys(term.event for term in self.terms))

    @property
    def metrics(self) -> set[str]:
        """Return all metrics that must be sampled for the role."""
        return {
            metric for term in self.terms for metric in (term.value, term.dutycycle)
        }


@dataclass(frozen=True)
class Figure:
    """The total of a role divided by the total of another role or by seconds."""

    name: str
    over: str
    under: str
    unit: str = ""
    less_is_better: bool = False
    group: ClassVar[str] = ""

    @property
    def roles(self) -> list[str]:
        """Return the roles that the figure needs."""
        return [self.over, *({self.under} - {RUN_SECONDS, COVERED_SECONDS})]

    @property
    def divisor(self) -> str:
        """Name what is divided by."""
        return self.under

    def value(self, totals: Mapping[str, DerivedFigure], seconds: float) -> float:
        """Calculate it for a run of ``seconds``; raises ZeroDivisionError."""
        over, divisors = totals[self.over], {RUN_SECONDS: seconds}
        divisors[COVERED_SECONDS] = over.covered
        divisors |= {name: one.value or 0.0 for name, one in totals.items()}
        return (over.value or 0.0) / divisors[self.under]


@dataclass(frozen=True)
class ExpressionFigure:
    """A figure that follows from totals of roles by an expression over their names.

    The expression may contain the seconds of the run. ``group`` is the imported group
    of events that the figure is from.
    """

    name: str
    expression: Expression
    unit: str = "UNITLESS"
    group: str = ""

    @property
    def roles(self) -> list[str]:
        """Return the roles that the figure needs."""
        found = dict.fromkeys(inputs_of(self.expression))
        return [name for name in found if name != RUN_SECONDS]

    @property
    def divisor(self) -> str:
        """Name what is divided by."""
        return f"a divisor of {self.expression}"

    def value(self, totals: Mapping[str, DerivedFigure], seconds: float) -> float:
        """Calculate it for a run of ``seconds``; raises ZeroDivisionError."""
        numbers = {name: totals[name].value or 0.0 for name in self.roles}
        numbers[RUN_SECONDS] = seconds
        return _value(self.expression, numbers)


FIGURES = (
    Figure("IPC", "Instructions", "Cycles", "UNITLESS"),
    Figure("FLOP rate", "FLOPs", RUN_SECONDS, "FLOPS"),
    Figure("double FLOP rate", "FLOPsDouble", RUN_SECONDS, "FLOPS"),
    Figure("single FLOP rate", "FLOPsSingle", RUN_SECONDS, "FLOPS"),
    Figure("memory bandwidth", "DramTraffic", RUN_SECONDS, "BYTE-PER-SEC"),
    # QUDT has no unit for operations per byte.
    Figure("arithmetic intensity", "FLOPs", "DramTraffic"),
    Figure("double arithmetic intensity", "FLOPsDouble", "DramTraffic"),
    Figure("package power", "EnergyPackage", COVERED_SECONDS, "W", True),
    Figure("DRAM power", "EnergyDram", COVERED_SECONDS, "W", True),
    Figure("instructions per joule", "Instructions", "EnergyPackage"),
    Figure("FLOPs per joule", "FLOPs", "EnergyPackage"),
    # Top-down analysis, level 1 and a part of level 2: shares of the slots. The rest of
    # level 2 depends on the processor, and is in the graph.
    Figure("retiring", "SlotsRetiring", "Slots", "UNITLESS"),
    Figure("bad speculation", "SlotsBadSpeculation", "Slots", "UNITLESS", True),
    Figure("front-end bound", "SlotsFrontEndBound", "Slots", "UNITLESS", True),
    Figure("fetch latency", "SlotsFetchLatency", "Slots", "UNITLESS", True),
    Figure("back-end bound", "SlotsBackEndBound", "Slots", "UNITLESS", True),
    Figure("SMT contention", "SlotsSmtContention", "Slots", "UNITLESS", True),
)
ROLES = tuple(dict.fromkeys(role for figure in FIGURES for role in figure.roles))


def less_is_better(name: str) -> bool | None:
    """Whether less of a figure is better; None if unknown, as for a metric."""
    known = {one.name: one.less_is_better for one in FIGURES}
    known |= {one.figure: one.less_is_better for one in figure_formulas().values()}
    return known.get(name)


def derive(
    roles: Iterable[HostRole],
    summaries: Iterable[Summary],
    seconds: float,
    expressions: Iterable[ExpressionFigure] = (),
) -> list[DerivedFigure]:
    """Return the total of each role in a run of ``seconds``, and derived figures.

    ``expressions`` are the figures of the processor of the run.
    """
    series = {(one.metric, one.instance): one for one in summaries}
    totals = {role.name: derive_total(role, series, seconds) for role in roles}
    return [*totals.values(), *derive_figures(totals, seconds, expressions)]


def derive_figures(
    totals: Mapping[str, DerivedFigure],
    seconds: float,
    expressions: Iterable[ExpressionFigure] = (),
) -> list[DerivedFigure]:
    """Return the figures that follow from totals of roles in ``seconds``."""
    all_figures: tuple[Figure | ExpressionFigure, ...] = (*FIGURES, *expressions)
    return [
        derive_figure(figure, totals, seconds)
        for figure in all_figures
        if totals.keys() >= {*figure.roles}
    ]


def _value(expression: Expression, totals: Mapping[str, float]) -> float:
    """The value of an expression over totals; raises ZeroDivisionError."""
    match expression:
        case Number(value):
            return value
        case Input(name):
            return totals[name]
        case Operation(operator, left, right):
            first, second = _value(left, totals), _value(right, totals)
            return float(_OPERATORS[operator](first, second))
    raise NotCountedError(f"{expression} is not a sum or product of roles")


def derive_figure(
    figure: Figure | ExpressionFigure,
    totals: Mapping[str, DerivedFigure],
    seconds: float,
) -> DerivedFigure:
    """Derive a figure of a run of ``seconds`` from the totals of its roles."""
    parts = [totals[name] for name in figure.roles]
    unit = f"{_UNIT}{figure.unit}" if figure.unit else ""
    events = tuple(dict.fromkeys(event for part in parts for event in part.events))
    found = DerivedFigure(figure.name, tuple(figure.roles), unit, events=events)
    if reason := next((part.reason for part in parts if part.reason), ""):
        return replace(found, reason=reason)
    try:
        value = figure.value(totals, seconds)
    except ZeroDivisionError:
        return replace(found, reason=f"{figure.divisor} is 0")
    return replace(
        found,
        value=value,
        covered=min(part.covered for part in parts),
        dutycycle=min(part.dutycycle for part in parts),
    )


def derive_total(role: HostRole, series: Series, seconds: float) -> DerivedFigure:
    """Return the total of a role in a run of ``seconds``, or why there is none."""
    found = DerivedFigure(
        role.name, (role.name,), role.unit, reason=role.reason, events=role.events
    )
    if role.reason:
        return found
    try:
        parts = [
            (float(term.weight), one, _dutycycle(term, one, series))
            for term in role.terms
            for one in _counted(term, role, series, seconds)
        ]
    except NotCountedError as error:
        return replace(found, reason=str(error))
    return replace(
        found,
        value=sum(weight * (one.figures.total or 0.0) for weight, one, _ in parts),
        covered=min(one.figures.covered or 0.0 for _, one, _ in parts),
        dutycycle=min(duty for *_, duty in parts),
    )


def _counted(
    term: WeightedEvent, role: HostRole, series: Series, seconds: float
) -> Iterator[Summary]:
    """Yield the counted summaries of an event; raises NotCountedError."""
    for name in _instances(term, role, series):
        one = series.get((term.value, name))
        if one is None or one.figures.total is None or one.figures.covered is None:
            where = f" on {name}" if name else ""
            raise NotCountedError(f"{term.event} was not counted{where} in this run")
        _check_time(term, one.figures.covered, seconds)
        yield one


def _instances(term: WeightedEvent, role: HostRole, series: Series) -> list[str]:
    """The instances to add up; if counted apart, each event has its own."""
    metrics = {term.value} if role.apart else role.metrics
    there = {name for metric, name in series if metric in metrics and name}
    if role.instances is None:
        return sorted(there) or [""]
    return sorted(role.instances & there if role.apart and there else role.instances)


def _check_time(term: WeightedEvent, covered: float, seconds: float) -> None:
    if covered < seconds - 0.001:
        raise NotCountedError(
            f"{term.event} was counted for {_exact(covered)} s of {_exact(seconds)} s"
        )
    if covered > _MOST_TIMES * seconds + _MOST_MORE:
        raise NotCountedError(
            f"{term.event} is known for {_exact(covered)} s together, of which the "
            f"run took {_exact(seconds)} s"
        )


def _exact(seconds: float) -> str:
    """Format to the millisecond, which can decide whether the time is covered."""
    return figures(round(seconds, 3), 15)


def _dutycycle(term: WeightedEvent, counted: Summary, series: Series) -> float:
    """Return the share of the time with a counter; raises NotCountedError."""
    one = series.get((term.dutycycle, counted.instance))
    figures = one.figures if one else None
    share = figures.median if figures else None
    if share is None:
        raise NotCountedError(f"it is unknown whether {term.event} had a counter")
    if share == 0:
        raise NotCountedError(
            f"{term.event} never had a counter: too many were requested"
        )
    return share
