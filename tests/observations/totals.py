"""Totals of PMU events, as runs record them."""

from collections.abc import Mapping

from observations.record import Summary
from observations.statistics import Statistics
from sampling.events.event import PmuEvent

SECONDS = 2.0
COVERED = 2.05


def metric(event: str, kind: str = "value") -> str:
    pmu, _, name = event.partition("::")
    return str(getattr(PmuEvent(pmu, name), kind))


def recorded(
    totals: Mapping[str, float],
    *cpus: int,
    covered: float = COVERED,
    duty: float | None = 1.0,
) -> list[Summary]:
    """Totals of events on each of the given CPUs, as runs record them."""
    found = []
    for event, total in totals.items():
        for cpu in cpus:
            value = Statistics(0, total=total, covered=covered)
            share = Statistics(0, mean=duty, median=duty)
            name = f"cpu{cpu}"
            found.append(Summary(metric(event), "", name, value))
            found.append(Summary(metric(event, "dutycycle"), "", name, share))
    return found
