"""Which instances of a metric are sampled at which period."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from ontology.texts import writable

Some = frozenset[str]


class InstanceSelection(NamedTuple):
    """Instances of a metric: those in ``only`` (None: all), except those in ``but``.

    Names are as in the graph, without control characters.
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
        return (self.only is None or name in self.only) and name not in self.but


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
        fresh = frozenset[str]().union(*named) - taken
        if fresh:
            found.append((period_ms, InstanceSelection(fresh)))
            taken |= fresh
    return found
