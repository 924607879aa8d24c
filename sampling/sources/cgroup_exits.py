"""Names of the metrics of tasks that ended, of groups and, as ``/``, of the host."""

from sampling.sources.cgroup_metrics import PREFIX, cgroup_metrics

EXITS = PREFIX + "exits."
HOST = "/"
# The kernel counts them only while kernel.task_delayacct is 1.
DELAYS = frozenset(EXITS + name for name in ("io_delay", "swap_delay", "reclaim_delay"))
_OF_HOST = frozenset((EXITS + "unplaced", EXITS + "lost"))


def exit_metrics() -> frozenset[str]:
    """The names of all of them."""
    return frozenset(name for name in cgroup_metrics() if name.startswith(EXITS))


def exit_metrics_of_groups() -> frozenset[str]:
    """Those that a group has values of."""
    return exit_metrics() - _OF_HOST
