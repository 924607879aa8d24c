"""CPU lists in the kernel's notation: ``0-3,8``."""

import re
from collections.abc import Iterable

from pinning.errors import PolicyError

_PART = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")
_LARGEST = 100_000


def read_cpus(text: str) -> list[int]:
    """The CPUs of a list, in order; raises PolicyError."""
    found: list[int] = []
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if not match:
            raise PolicyError(f"{text[:60]!r} is not a list of CPUs such as 0-3,8")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last <= _LARGEST:
            raise PolicyError(f"{part!r} is not a range of CPUs such as 0-3")
        found.extend(range(first, last + 1))
        if len(found) > _LARGEST:
            raise PolicyError(f"{text[:60]!r} lists more than {_LARGEST} CPUs")
    return found


def write_cpus(cpus: Iterable[int]) -> str:
    """A set of CPUs in short form: ``0-3,8``."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def in_order(cpus: Iterable[int]) -> str:
    """CPUs one by one, in the given order: ``8,0,1``."""
    return ",".join(map(str, cpus))
