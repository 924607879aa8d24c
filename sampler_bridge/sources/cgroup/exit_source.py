"""Gives the totals of ended tasks as metrics of control groups."""

from collections.abc import Iterable, Sequence

from core.linux.errors import TaskstatsError
from core.linux.taskstats import ExitSocket, delays_are_counted
from sampler_bridge.errors import StateError
from sampler_bridge.sources.cgroup.exits import ExitCounter
from sampling.account.reasons import GapCause, GapReason
from sampling.sources.cgroup_exits import DELAYS, exit_metrics
from sampling.sources.source import Gap, Series

_UNCOUNTED = GapCause(
    GapReason.UNSUPPORTED,
    "the kernel does not count delays: set kernel.task_delayacct to 1",
)
_STOP_SECONDS = 5.0


class ExitSource:
    """Counts ended tasks while one of their metrics is chosen."""

    def __init__(self) -> None:
        self.chosen: tuple[str, ...] = ()
        self._counter: ExitCounter | None = None
        self._refused = _UNCOUNTED

    def select(self, metrics: Sequence[str]) -> None:
        """Choose the metrics of ended tasks among some; start or stop counting."""
        self.chosen = tuple(name for name in metrics if name in exit_metrics())
        if self._counter is not None and not self.chosen:
            self._counter.stop(_STOP_SECONDS)
            self._counter = None
        if self._counter is None and self.chosen:
            self._start()

    def read(self, groups: Iterable[str]) -> tuple[dict[Series, int], dict[str, Gap]]:
        """The chosen totals, and the causes why others are missing."""
        if self._counter is None:
            return {}, {name: Gap(self._refused, 1) for name in self.chosen}
        self._counter.watch(groups)
        uncounted = frozenset() if delays_are_counted() else DELAYS
        values = {
            series: value
            for series, value in self._counter.values().items()
            if series.metric in self.chosen and series.metric not in uncounted
        }
        missing = {*self.chosen} & uncounted
        return values, {name: Gap(_UNCOUNTED, 1) for name in missing}

    def _start(self) -> None:
        try:
            counter = ExitCounter(ExitSocket())
        except TaskstatsError as error:
            self._refused = _cause(error)
            return
        try:
            counter.start()
        except StateError as error:
            self._refused = GapCause(GapReason.OTHER, str(error))
            counter.stop(_STOP_SECONDS)
        else:
            self._counter = counter


def _cause(error: TaskstatsError) -> GapCause:
    denied = isinstance(error.__cause__, PermissionError)
    return GapCause(GapReason.DENIED if denied else GapReason.UNSUPPORTED, str(error))
