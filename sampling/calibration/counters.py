"""The PMU events of a private stack: the kernel's own, which every host has.

A hardware counter is read in the same way, by one system call for each event and CPU;
the cost of that was measured with the kernel's own events only.
"""

from collections.abc import Collection

from core.settings.settings import Settings
from core.settings.state import counting_home
from sampling.agents.configuration import kept_configuration
from sampling.agents.perfevent import AGENT
from sampling.agents.private_pmcd import socket_of
from sampling.cost.live import value_counts
from sampling.cost.load import COUNTERS, FetchSize
from sampling.counters.local import count
from sampling.counters.perfevent import CountingSetup
from sampling.events.choice import EventSelection, SelectedEvent
from sampling.events.conf import configuration
from sampling.events.event import PmuEvent
from sampling.events.host import HostPmus

_NAMES = (
    *("page-faults", "minor-faults", "major-faults"),
    *("context-switches", "cpu-migrations", "task-clock"),
)
EVENTS = tuple(PmuEvent("software", name, kernel=True) for name in _NAMES)


class CounterPmcd:
    """The PMCD for PMU events of a private stack, by its pid."""

    def __init__(self, settings: Settings, pid: int) -> None:
        self._home, self._host, self._pid = counting_home(settings), settings.host, pid
        self.socket = socket_of(self._home)

    def count(self, metrics: Collection[str]) -> None:
        """Let the agent count the events of these metrics only; raises SuperTwinError.

        At each fetch it reads all events that it counts, whatever is asked for.
        """
        chosen = [event for event in EVENTS if event.value in metrics]
        prepared = _prepared(self._host, chosen)
        if kept_configuration(self._home, AGENT) != prepared.text:
            count(self._home, prepared, self._pid)

    def sizes(self) -> dict[str, FetchSize]:
        """The sizes of the metrics of all events, while all are counted."""
        names = _prepared(self._host, EVENTS).metrics
        counted = value_counts(f"unix://{self.socket}", names)
        return {name: FetchSize(COUNTERS, values) for name, values in counted.items()}


def _prepared(host: str, events: Collection[PmuEvent]) -> CountingSetup:
    pmus = HostPmus(host, {})
    choice = EventSelection(
        host, tuple(SelectedEvent(event, "device") for event in events)
    )
    return CountingSetup(pmus, choice, configuration(pmus, choice))
