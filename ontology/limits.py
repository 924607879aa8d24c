"""What a rate cannot exceed: a CPU, a disk or a stall takes a second of each second,
and all CPUs together take as many seconds as there are CPUs.
"""

import re

from ontology.units import SECONDS, qudt_unit

_ONE_THING = re.compile(
    r"kernel\.percpu\.cpu\..+|kernel\.all\.pressure\..+"
    r"|supertwin\.cgroup\.(cpu|memory|io)\.stalled"
    r"|disk\.(dev|partitions|md|dm)\.avactive"
)
_ALL_CPUS = re.compile(r"kernel\.all\.cpu\..+")
# It has an instance for each CPU that those of all CPUs add up.
PER_CPU = "kernel.percpu.cpu.user"
_SECONDS = SECONDS | {str(qudt_unit(name)): each for name, each in SECONDS.items()}
# How far beyond its limit a value is: less comes of numbers that were divided.
BEYOND = 1 + 1e-9


def greatest_rate(metric: str, unit: str, cpus: int | None = None) -> float | None:
    """What a counter grows by per second at most, in its unit; None: nobody knows.

    The unit is PCP's, or QUDT's IRI. ``cpus`` is how many the host has, if known.
    """
    seconds = _SECONDS.get(unit.strip())
    things = cpus if is_of_all_cpus(metric) else _things(metric)
    return things / seconds if seconds and things else None


def is_of_all_cpus(metric: str) -> bool:
    """Whether a metric adds up the time of all CPUs of a host."""
    return bool(_ALL_CPUS.fullmatch(metric))


def _things(metric: str) -> int | None:
    return 1 if _ONE_THING.fullmatch(metric) else None
