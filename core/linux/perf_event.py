"""Counts events of a control group on one CPU, with perf_event_open(2)."""

import ctypes
import os
import platform
import struct
from typing import NamedTuple

# The number of the system call, by architecture.
_CALLS = {"x86_64": 298, "aarch64": 241}
_ATTRIBUTES = struct.Struct("=IIQQQQQ")
_SIZE = 112  # PERF_ATTR_SIZE_VER5, of Linux 4.1
_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED, _RUNNING
_OF_CGROUP, _CLOSE_ON_EXEC = 4, 8  # PERF_FLAG_PID_CGROUP, _FD_CLOEXEC
_COUNT = struct.Struct("=3Q")
_LIBC = ctypes.CDLL(None, use_errno=True)


class PerfEvent(NamedTuple):
    """An event by its type and configuration, as in linux/perf_event.h."""

    type: int
    config: int


class Count(NamedTuple):
    """A counter's value, and for how many ns it was enabled and was counting."""

    value: int
    enabled: int
    running: int


def open_counter(event: PerfEvent, group: int, cpu: int) -> int:
    """Open a counter for a control group on a CPU, and return its descriptor.

    ``group`` is the descriptor of the group's folder. Raises OSError, with ENOSYS on
    architectures other than x86_64 and aarch64.
    """
    attributes = _ATTRIBUTES.pack(event.type, _SIZE, event.config, 0, 0, _TIMES, 0)
    call = _CALLS.get(platform.machine(), -1)
    flags = _OF_CGROUP | _CLOSE_ON_EXEC
    text = ctypes.create_string_buffer(attributes.ljust(_SIZE, b"\0"), _SIZE)
    counter: int = _LIBC.syscall(
        *(ctypes.c_long(call), text, ctypes.c_long(group), ctypes.c_long(cpu)),
        *(ctypes.c_long(-1), ctypes.c_ulong(flags)),
    )
    if counter < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return counter


def read_counter(counter: int) -> Count:
    """Return what a counter counted since it was opened; raises OSError."""
    return Count(*_COUNT.unpack(os.read(counter, _COUNT.size)))
