"""Derives the figures of runs from the counters that a plan samples."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, reduce

from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.derived import ExpressionFigure, HostRole, derive
from observations.passes import PassCounts, agreement_of, figures_across
from observations.record import (
    DerivedFigure,
    PassAgreement,
    Run,
    RunRequest,
    Summary,
)
from observations.regions.counting import RegionCounting, read_counting
from observations.session.counter_snapshots import RunSnapshots
from observations.session.pass_counts import counts_of
from observations.session.repetition import Repetition
from observations.session.roles import read_figures, read_named_roles, read_roles


class RunFigures:
    """The figures of the runs of a request, by the metrics that its plan samples.

    ``names`` returns the names of these; the formulas are read from the graph once.
    """

    def __init__(
        self,
        settings: Settings,
        request: RunRequest,
        plan: str,
        names: Callable[[], Sequence[str]],
    ) -> None:
        self._settings, self._plan, self._names = settings, plan, names
        self._run_request, self._spec = request, request.spec

    def derived(
        self, run: Run, snapshots: RunSnapshots, summaries: Sequence[Summary]
    ) -> list[DerivedFigure]:
        """Derive the figures of a run from its counters."""
        if not self._names():
            return []
        roles = [_with_doubt(role, snapshots) for role in self._roles]
        found = derive(roles, summaries, run.span.seconds, self._expressions)
        passes = tuple(filter(None, [self._spec.pass_number]))
        return [replace(one, passes=passes) for one in found]

    def combined(
        self, runs: Sequence[Repetition]
    ) -> tuple[list[DerivedFigure], PassAgreement]:
        """Derive the figures of several passes, and how far all of them differ."""
        spec, counts = self._spec, [counts_of(run) for run in runs]
        common = (spec.common, spec.cpus)
        roles = [
            reduce(_with_doubt, (run.snapshots for run in runs), role)
            for role in self._all_roles(counts)
        ]
        found = figures_across(roles, counts, *common, self._expressions)
        return found, agreement_of(counts, *common)

    def _all_roles(self, counts: Sequence[PassCounts]) -> list[HostRole]:
        metrics = {metric for one in counts for metric in one.metrics}
        with dataset(self._settings, "twin") as twin:
            return read_named_roles(twin, self._spec, self._spec.roles, metrics)

    @cached_property
    def region_counting(self) -> RegionCounting:
        """What is counted in the regions of the runs."""
        if not self._spec.regions or not self._run_request.samples:
            return RegionCounting()
        with dataset(self._settings, "twin") as twin:
            counting = read_counting(twin, self._spec)
            figures = read_figures(twin, self._spec.host) if counting.roles else ()
        return replace(counting, expressions=tuple(figures))

    @cached_property
    def _roles(self) -> list[HostRole]:
        with dataset(self._settings, "twin") as twin:
            return read_roles(twin, self._spec, self._plan, self._names())

    @cached_property
    def _expressions(self) -> list[ExpressionFigure]:
        if not self._roles:
            return []
        with dataset(self._settings, "twin") as twin:
            return read_figures(twin, self._spec.host)


def _with_doubt(role: HostRole, snapshots: RunSnapshots) -> HostRole:
    """Give a role a reason if its counters were reset during a run."""
    doubts = sorted({*map(snapshots.doubt_about, role.metrics)} - {""})
    return replace(role, reason=doubts[0]) if doubts and not role.reason else role
