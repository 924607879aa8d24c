"""Upper limits of rates.

A CPU, a disk or a stall takes at most one second per second; all CPUs together take at
most as many seconds per second as there are CPUs.
"""

import re

from ontology.units import SECONDS, qudt_unit

_ONE_THING = re.compile(
    r"kernel\.percpu\.cpu\..+|kernel\.all\.pressure\..+"
    r"|supertwin\.cgroup\.(cpu|memory|io)\.stalled"
    r"|disk\.(dev|partitions|md|dm)\.avactive"
)
_ALL_CPUS = re.compile(r"kernel\.all\.cpu\..+")
# It has an instance for each CPU that the metrics of all CPUs add up.
PER_CPU = "kernel.percpu.cpu.user"
_SECONDS = SECONDS | {str(qudt_unit(name)): each for name, each in SECONDS.items()}
# The factor by which a value must exceed its limit, to allow for rounding.
BEYOND = 1 + 1e-9


def greatest_rate(metric: str, unit: str, cpus: int | None = None) -> float | None:
    """The most that a counter can grow per second, in its unit; None if unknown.

    The unit is PCP's name or QUDT's IRI. ``cpus`` is the host's number of CPUs, if
    known.
    """
    seconds = _SECONDS.get(unit.strip())
    things = cpus if is_of_all_cpus(metric) else _things(metric)
    return things / seconds if seconds and things else None


def is_of_all_cpus(metric: str) -> bool:
    """Whether a metric adds up the time of all CPUs of a host."""
    return bool(_ALL_CPUS.fullmatch(metric))


def _things(metric: str) -> int | None:
    return 1 if _ONE_THING.fullmatch(metric) else None
