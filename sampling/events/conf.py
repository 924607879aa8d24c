"""Writes perfevent.conf, as perfevent.conf(5) and the agent's own parser define it."""

from sampling.agents.perfevent import NEW_EVENT
from sampling.events.choice import EventSelection, SelectedEvent
from sampling.events.host import HostPmus

# The kernel's own PMU, which libpfm4 finds on every machine.
_ALWAYS = "perf"


def configuration(host: HostPmus, choice: EventSelection) -> str:
    """The configuration: a section of libpfm4's events, and one of the kernel's own.

    The agent uses only one section, so events of all PMUs are in the section of the
    cores, named with their PMU. The agent skips the kernel's section if no other one
    comes first. It only counts kernel events that have a file in a device's folder
    `events`; a line that begins with `NEW_EVENT` says which files to add to a copy.
    """
    own = [one for one in choice.counted if not one.event.kernel]
    kernel = [one for one in choice.counted if one.event.kernel]
    models = list(dict.fromkeys([*host.cores, _ALWAYS]))
    lines = [
        f"# {choice.host}: written by SuperTwin from the graph; changes are lost.",
        *(_new_event(one) for one in kernel if one.config),
        f"[{' '.join(models)}]",
        *map(_line, own),
    ]
    if kernel:
        lines += ["", "[dynamic]", *map(_line, kernel)]
    return "\n".join([*lines, ""])


def _new_event(one: SelectedEvent) -> str:
    """The comment that defines an event: its device, name and configuration."""
    values = ",".join(f"{field}={value:#x}" for field, value in one.config)
    return f"{NEW_EVENT}{one.event.pmu} {one.event.name} {values}"


def _line(one: SelectedEvent) -> str:
    """The line of an event: for every thread, or the first of each NUMA domain."""
    place = " node" if one.on_nodes else ""
    return one.event.configured + place
