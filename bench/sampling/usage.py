"""CPU and memory of processes, as the kernel counts them."""

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.servers import Pmcd

_TICK = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """CPU in % of one core over a stretch of time, resident memory in MB at its end."""

    cpu: float
    rss: float


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process since it started."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def rss_mb(pid: int) -> float:
    """Resident memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise AssertionError(f"no VmRSS of {pid}")


def of_pcp(usage: Mapping[str, Usage]) -> float:
    """CPU of PMCD and its agents together, in % of one core."""
    return sum(one.cpu for name, one in usage.items() if name.startswith("pm"))


def agents(pmcd: Pmcd) -> dict[str, int]:
    """The agents that a PMCD started, according to its log: pmdaproc, pmdalinux, ….

    Their parent does not identify them: it may be another agent, or have ended.
    """
    log = (pmcd.folder / "log/pmcd.log").read_text()
    table = log.rpartition("active agent dom")[2]
    rows = re.findall(r"^(\w+) +\d+ +(\d+) .* bin pipe", table, re.MULTILINE)
    return {f"pmda{name}": int(pid) for name, pid in rows}


def program_of(parent: int, program: Path) -> int:
    """The child of a process that runs a program."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and (folder / "exe").readlink() == program:
                return int(folder.name)
        except OSError:  # it has ended
            continue
    raise AssertionError(f"{parent} runs no {program}")


@dataclass
class Meter:
    """Measures the processes of each named part from its creation to each reading."""

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
