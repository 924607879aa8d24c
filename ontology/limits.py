"""What a rate cannot exceed: a CPU, a disk or a stall takes a second of each second."""

import re

from ontology.units import SECONDS, qudt_unit

_ONE_THING = re.compile(
    r"kernel\.percpu\.cpu\..+|kernel\.all\.pressure\..+"
    r"|supertwin\.cgroup\.(cpu|memory|io)\.stalled"
    r"|disk\.(dev|partitions|md|dm)\.avactive"
)
_SECONDS = SECONDS | {str(qudt_unit(name)): each for name, each in SECONDS.items()}
# How far beyond its limit a value is: less comes of numbers that were divided.
BEYOND = 1 + 1e-9


def greatest_rate(metric: str, unit: str) -> float | None:
    """What a counter grows by per second at most, in its unit; None: nobody knows.

    The unit is PCP's, or QUDT's IRI.
    """
    seconds = _SECONDS.get(unit.strip())
    if seconds is None or not _ONE_THING.fullmatch(metric):
        return None
    return 1 / seconds
