"""CPU and memory of processes, as the kernel counts them."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_TICK = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """CPU in % of one core over a stretch of time, resident memory in MB at its end."""

    cpu: float
    rss: float


def cpu_seconds(pid: int) -> float:
    """User and system time of a process since it started, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def rss_mb(pid: int) -> float:
    """Resident memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise AssertionError(f"no VmRSS of {pid}")


def agents(pmcd: int) -> dict[str, int]:
    """The agents of a PMCD, by the name of their program."""
    found: dict[str, int] = {}
    parents = {pmcd}
    for pid in sorted(int(path.name) for path in Path("/proc").glob("[0-9]*")):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:  # it ended meanwhile
            continue
        name, _, rest = stat.partition("(")[2].rpartition(")")
        if int(rest.split()[1]) in parents:
            parents.add(pid)
            found[name] = pid
    return found


@dataclass
class Meter:
    """Measures processes from its making to each reading, by the name of their part."""

    pids: Mapping[str, int]

    def __post_init__(self) -> None:
        self._since = time.monotonic()
        self._before = {name: cpu_seconds(pid) for name, pid in self.pids.items()}

    def read(self) -> dict[str, Usage]:
        """Usage of each part since the meter was made."""
        took = time.monotonic() - self._since
        return {
            name: Usage(
                100 * (cpu_seconds(pid) - self._before[name]) / took, rss_mb(pid)
            )
            for name, pid in self.pids.items()
        }
