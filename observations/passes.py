"""Figures of runs that were counted in passes, and how well the passes agree.

Each pass counts other events of the same command, so a figure whose events were counted
in several passes is an estimate: it is as uncertain as the passes differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from observations.derived import (
    FIGURES,
    ExpressionFigure,
    Figure,
    HostRole,
    Series,
    WeightedEvent,
    derive_figure,
    derive_total,
)
from observations.record import DerivedFigure, PassAgreement
from sampling.events.event import PmuEvent

# Passes may differ by this many percent without a warning. It is the change that
# `compare` regards as unimportant: a larger one could be mistaken for a result.
MOST_SPREAD = 5.0


@dataclass(frozen=True)
class PassCounts:
    """What a pass counted, and its wall and CPU time in seconds; None if unknown."""

    number: int
    seconds: float
    cpu_seconds: float | None
    series: Series

    @property
    def metrics(self) -> set[str]:
        """The metrics that were read at its end."""
        return {metric for metric, _ in self.series}

    def total(self, common: str, cpus: Iterable[int]) -> float | None:
        """Sum the common events over CPUs, or all; None if they were not counted."""
        names = {f"cpu{cpu}" for cpu in cpus}
        metrics = {name for event in common.split(", ") for name in _metrics(event)}
        totals = [
            one.figures.total
            for (metric, instance), one in self.series.items()
            if metric in metrics and (instance in names or not names)
        ]
        return sum(t or 0.0 for t in totals) if totals and None not in totals else None


def _metrics(event: str) -> set[str]:
    pmu, _, name = event.partition("::")
    return {PmuEvent(pmu, name, kernel).value for kernel in (False, True)}


def agreement_of(
    counts: Sequence[PassCounts], common: str, cpus: Iterable[int]
) -> PassAgreement:
    """Return how far passes differ in wall time, CPU time and their common event."""
    cpus = [*cpus]
    return PassAgreement(
        spread([one.seconds for one in counts]) or 0.0,
        spread([one.cpu_seconds for one in counts]),
        spread([one.total(common, cpus) for one in counts]),
    )


def spread(values: Sequence[float | None]) -> float | None:
    """Return the range of values in percent of their mean; None if one is unknown."""
    known = [one for one in values if one is not None]
    if len(known) < len(values) or not known:
        return None
    mean = sum(known) / len(known)
    return 100 * (max(known) - min(known)) / mean if mean else 0.0


def figures_across(
    roles: Sequence[HostRole],
    counts: Sequence[PassCounts],
    common: str,
    cpus: Iterable[int],
    expressions: Iterable[ExpressionFigure] = (),
) -> list[DerivedFigure]:
    """Return the figures of a round whose events were counted in several passes.

    ``expressions`` are the figures of the processor of the run.
    """
    cpus = [*cpus]
    totals = {role.name: _total(role, counts) for role in roles}
    all_figures: tuple[Figure | ExpressionFigure, ...] = (*FIGURES, *expressions)
    follows = [
        _figure(figure, totals, counts)
        for figure in all_figures
        if totals.keys() >= {*figure.roles}
        and not _counted_together(figure.roles, roles, counts)
    ]
    return [
        replace(one, spread=agreement_of(passes, common, cpus).largest)
        for one in (*totals.values(), *follows)
        for passes in [[p for p in counts if p.number in one.passes]]
        if len(passes) > 1
    ]


def _counted_together(
    names: Sequence[str], roles: Sequence[HostRole], counts: Sequence[PassCounts]
) -> bool:
    """Whether a pass counted all of these roles, so that its run has the figure."""
    metrics = {m for role in roles if role.name in names for m in role.metrics}
    return any(metrics <= one.metrics for one in counts)


def _total(role: HostRole, counts: Sequence[PassCounts]) -> DerivedFigure:
    """Return the total of a role, of one pass if possible, else summed over passes."""
    parts = [
        replace(derive_total(part, one.series, one.seconds), passes=(one.number,))
        for one, part in _parts(role, counts)
    ]
    return replace(
        parts[0],
        reason=next((part.reason for part in parts if part.reason), ""),
        value=sum(part.value or 0.0 for part in parts),
        covered=min(part.covered for part in parts),
        dutycycle=min(part.dutycycle for part in parts),
        events=role.events,
        passes=tuple(part.passes[0] for part in parts),
    )


def _parts(
    role: HostRole, counts: Sequence[PassCounts]
) -> list[tuple[PassCounts, HostRole]]:
    """Return the passes that count a role, each with the part that it counts."""
    whole = [one for one in counts if role.metrics <= one.metrics]
    if whole or role.reason:
        return [((whole or counts)[0], role)]
    found: dict[int, list[WeightedEvent]] = {}
    for term in role.terms:
        places = (n for n, one in enumerate(counts) if term.value in one.metrics)
        # A term that no pass counted is missing in the last one, which is reported.
        found.setdefault(next(places, len(counts) - 1), []).append(term)
    return [
        (counts[n], replace(role, terms=tuple(terms)))
        for n, terms in sorted(found.items())
    ]


def _figure(
    figure: Figure | ExpressionFigure,
    totals: Mapping[str, DerivedFigure],
    counts: Sequence[PassCounts],
) -> DerivedFigure:
    """Return a figure of roles of several passes, by the mean time of these passes."""
    passes = sorted({n for role in figure.roles for n in totals[role].passes})
    times = [one.seconds for one in counts if one.number in passes]
    found = derive_figure(figure, totals, sum(times) / len(times))
    return replace(found, passes=tuple(passes))
