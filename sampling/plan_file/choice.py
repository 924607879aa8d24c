"""Which instances of a metric are sampled at which period."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from ontology.texts import writable
from sampling.sources.thread_metrics import process_of

Some = frozenset[str]


class InstanceSelection(NamedTuple):
    """Instances of a metric: those in ``only`` (None: all), except those in ``but``.

    Names are as in the graph, without control characters. The name of a process stands
    for all its threads where these are the instances.
    """

    only: Some | None = None
    but: Some = frozenset()

    @property
    def is_all(self) -> bool:
        """Whether no instance is left out."""
        return self.only is None and not self.but

    def has(self, instance: str | None) -> bool:
        """Whether an instance, by PCP's name, is chosen."""
        name = "" if instance is None else writable(instance)
        is_chosen = self.only is None or _named_in(self.only, name) is not None
        return is_chosen and _named_in(self.but, name) is None

    def name_of(self, instance: str | None) -> str:
        """The name in ``only`` that chose an instance: its own, or its process's."""
        name = "" if instance is None else writable(instance)
        return _named_in(self.only or frozenset(), name) or name


def _named_in(names: Some, name: str) -> str | None:
    if name in names:
        return name
    process = process_of(name)
    return process if process and process in names else None


ALL = InstanceSelection()


class MetricRequest(NamedTuple):
    """What one plan requests of a metric; ``instances`` is None for all of them."""

    period_ms: int
    instances: Some | None = None


def finest(
    metric_requests: Iterable[MetricRequest],
) -> list[tuple[int, InstanceSelection]]:
    """Each instance once, at the finest period (ms) that a plan requests."""
    by_period: dict[int, list[Some | None]] = defaultdict(list)
    for metric_request in metric_requests:
        by_period[metric_request.period_ms].append(metric_request.instances)
    found: list[tuple[int, InstanceSelection]] = []
    taken: Some = frozenset()
    for period_ms, asked in sorted(by_period.items()):
        named = [some for some in asked if some is not None]
        if len(named) < len(asked):
            return [*found, (period_ms, InstanceSelection(None, taken))]
        asked_for = frozenset[str]().union(*named)
        fresh = frozenset(n for n in asked_for if _named_in(taken, n) is None)
        if fresh:
            apart = frozenset(name for name in taken if process_of(name) in fresh)
            found.append((period_ms, InstanceSelection(fresh, apart)))
            taken |= fresh
    return found
