"""CPU and memory of processes, as the kernel counts them."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")
_IDLE = (3, 4)  # of /proc/stat's first line, after its name: idle, iowait


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and all its threads since its start, to the microsecond.

    /proc/PID/stat has it in steps of 10 ms, which is too coarse. Raises OSError.
    """
    return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3)


def rss_bytes(pid: int) -> int:
    """Resident memory of a process, in bytes; raises OSError."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def machine_seconds(path: Path = Path("/proc/stat")) -> float:
    """Busy time of all CPUs together since the boot, in seconds."""
    fields = [int(word) for word in path.read_text().split("\n", 1)[0].split()[1:9]]
    return sum(n for at, n in enumerate(fields) if at not in _IDLE) / _TICK


class CpuMeter:
    """CPU in % of one core since the creation of the meter, by part."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self._began = time.monotonic()
        self._before = {part: cpu_seconds(pid) for part, pid in pids.items()}
        self._machine = machine_seconds()

    def read(self) -> dict[str, float]:
        """CPU of each part; raises OSError if one has ended."""
        took = time.monotonic() - self._began
        return {
            part: 100 * (cpu_seconds(pid) - self._before[part]) / took
            for part, pid in self._pids.items()
        }

    def others(self) -> float:
        """CPU of everything that is not a part."""
        took = time.monotonic() - self._began
        busy = 100 * (machine_seconds() - self._machine) / took
        return max(busy - sum(self.read().values()), 0.0)
