"""Turns roles and events into counters, using what the graph knows of a host.

Nothing is changed here: ``local`` and ``remote`` configure the agents.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.linux.ssh.reasons import printable
from core.stores.endpoint import Endpoint
from ingest.pmu.pfm import read_events
from sampling.agents.perfevent import AGENT
from sampling.errors import PerfeventError
from sampling.events.choice import EventSelection, choose
from sampling.events.conf import configuration
from sampling.events.counters import check_counters
from sampling.events.event import PmuEvent
from sampling.events.host import HostPmus, read_host, read_role
from sampling.events.live import absent_metrics, is_counting

# The agent's message about an event that it cannot count.
_REFUSAL = re.compile(r'failed on cpu(\d+) for "([^"]+)": (.*)')


@dataclass(frozen=True)
class CountingSetup:
    """What to count on a host, the agent's configuration for it, and remarks."""

    host: HostPmus
    choice: EventSelection
    text: str
    remarks: Sequence[str] = ()

    @property
    def events(self) -> list[PmuEvent]:
        """All events to be counted."""
        return [one.event for one in self.choice.counted]

    @property
    def metrics(self) -> list[str]:
        """PCP's metrics of all events: values and duty cycles."""
        return [
            name for event in self.events for name in (event.value, event.dutycycle)
        ]

    @property
    def agent(self) -> str:
        """The agent that counts the events."""
        return AGENT

    def absent(self, address: str) -> list[str]:
        """The metrics that have no instance in PMCD; raises PerfeventError."""
        return absent_metrics(address, self.metrics)

    def check(self, lacks: Sequence[str], log: str) -> None:
        """Raise PerfeventError for an absent event if the log has the reason."""
        found = _REFUSAL.findall(log)
        refused = {name: f"{why} (cpu{cpu})" for cpu, name, why in found}
        for event in self.events:
            if event.value in lacks and event.configured in refused:
                reason = printable(refused[event.configured])
                raise PerfeventError(f"{event}: {reason}")

    def works(self, address: str) -> bool:
        """Whether events are counted; if they never are, duty cycles of 0 show it."""
        return is_counting(address)

    def checked(self) -> "CountingSetup":
        """Return itself; raises PerfeventError with all reasons of refusals, if any."""
        if self.choice.refused:
            raise PerfeventError("; ".join(self.choice.refusals))
        return self


def prepare(
    twin: Endpoint,
    host: str,
    roles: Collection[str],
    events: Collection[str],
    multiplex: bool = False,
) -> CountingSetup:
    """Choose what measures roles and events on a host.

    What cannot be counted is in ``choice.refused``, each with its reason. Raises
    PerfeventError if there are too few counters, and QueriesError.
    """
    known = read_host(twin, host)
    terms = {role: read_role(twin, host, role) for role in dict.fromkeys(roles)}
    choice = choose(known, terms, dict.fromkeys(events), encode)
    remarks = check_counters(known, choice, multiplex)
    return CountingSetup(known, choice, configuration(known, choice), remarks)


def encode(pmu: str, event: str) -> list[str]:
    """Return the encodings of an event in this machine's libpfm4, if it has any."""
    found = read_events({pmu: [event]}).get(pmu) or [{"encoding": []}]
    return list(found[0]["encoding"])
