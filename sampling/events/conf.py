"""perfevent.conf, as perfevent.conf(5) and the agent's own parser have it."""

from sampling.events.choice import Choice, Counted
from sampling.events.host import HostPmus

# The kernel's own PMU, which libpfm4 finds on every machine.
_ALWAYS = "perf"


def configuration(host: HostPmus, choice: Choice) -> str:
    """The configuration: a section of libpfm4's events, and one of the kernel's own.

    The agent uses one section only, so events are named with their PMU in that of the
    cores; it passes over the kernel's where no other section stands first.
    """
    own = [one for one in choice.counted if not one.event.kernel]
    kernel = [one for one in choice.counted if one.event.kernel]
    models = list(dict.fromkeys([*host.cores, _ALWAYS]))
    lines = [
        f"# {choice.host}: written by SuperTwin from the graph; changes are lost.",
        f"[{' '.join(models)}]",
        *map(_line, own),
    ]
    if kernel:
        lines += ["", "[dynamic]", *map(_line, kernel)]
    return "\n".join([*lines, ""])


def _line(one: Counted) -> str:
    """An event, on every thread or on the first one of each NUMA domain."""
    place = " node" if one.on_nodes else ""
    return one.event.configured + place
