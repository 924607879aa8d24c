"""Figures of a run: totals of roles, and rates and ratios of these totals.

A role has a total only if its events were counted for the whole run and not for much
longer; otherwise the figure has a reason instead of a value. If events shared counters,
the total is an estimate, and its duty cycle shows it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from observations.errors import NotCountedError
from observations.record import DerivedFigure, Summary
from ontology.figures import figures

_UNIT = "http://qudt.org/vocab/unit/"
# If the counted time is longer than this, too much of it lies outside the run.
_MOST_TIMES, _MOST_MORE = 2.0, 0.5

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
    role.
    """

    name: str
    unit: str = ""
    terms: tuple[WeightedEvent, ...] = ()
    instances: frozenset[str] | None = None
    reason: str = ""

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

    @property
    def roles(self) -> list[str]:
        """Return the roles that the figure needs."""
        return [self.over, *({self.under} - {RUN_SECONDS, COVERED_SECONDS})]


# Divisors: the seconds of the run, or, for power, the seconds that the total covers.
RUN_SECONDS, COVERED_SECONDS = "run", "covered"
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
    # Top-down analysis, level 1 and a part of level 2: shares of the slots.
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
    return next((one.less_is_better for one in FIGURES if one.name == name), None)


def derive(
    roles: Iterable[HostRole], summaries: Iterable[Summary], seconds: float
) -> list[DerivedFigure]:
    """Return the total of each role in a run of ``seconds``, and derived figures."""
    series = {(one.metric, one.instance): one for one in summaries}
    totals = {role.name: _total(role, series, seconds) for role in roles}
    return [*totals.values(), *rates(totals, seconds)]


def rates(totals: Mapping[str, DerivedFigure], seconds: float) -> list[DerivedFigure]:
    """Return the rates and ratios that follow from totals of roles in ``seconds``."""
    return [
        _figure(figure, totals, seconds)
        for figure in FIGURES
        if totals.keys() >= {*figure.roles}
    ]


def _figure(
    figure: Figure, totals: Mapping[str, DerivedFigure], seconds: float
) -> DerivedFigure:
    parts = [totals[name] for name in figure.roles]
    unit = f"{_UNIT}{figure.unit}" if figure.unit else ""
    found = DerivedFigure(figure.name, tuple(figure.roles), unit)
    if reason := next((part.reason for part in parts if part.reason), ""):
        return replace(found, reason=reason)
    whole = parts[0]
    divisors = {RUN_SECONDS: seconds, COVERED_SECONDS: whole.covered}
    under = parts[-1].value if len(parts) > 1 else divisors[figure.under]
    if not under:
        return replace(found, reason=f"{figure.under} is 0")
    return replace(
        found,
        value=(whole.value or 0.0) / under,
        covered=min(part.covered for part in parts),
        dutycycle=min(part.dutycycle for part in parts),
    )


def _total(role: HostRole, series: Series, seconds: float) -> DerivedFigure:
    found = DerivedFigure(role.name, (role.name,), role.unit, reason=role.reason)
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
    names = role.instances
    if names is None:
        names = frozenset(i for metric, i in series if metric in role.metrics and i)
    for name in sorted(names) or [""]:
        one = series.get((term.value, name))
        if one is None or one.figures.total is None or one.figures.covered is None:
            where = f" on {name}" if name else ""
            raise NotCountedError(f"{term.event} was not counted{where} in this run")
        _check_time(term, one.figures.covered, seconds)
        yield one


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
