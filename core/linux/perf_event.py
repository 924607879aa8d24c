"""Counters of the kernel for a control group on one CPU, by perf_event_open(2)."""

import ctypes
import os
import platform
import struct
from typing import NamedTuple

_CALLS = {"x86_64": 298, "aarch64": 241}
_ATTRIBUTES = struct.Struct("=IIQQQQQ")
_SIZE = 112  # of version 5 of the structure, of Linux 4.1
_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED, _RUNNING
_OF_CGROUP, _CLOSE_ON_EXEC = 4, 8
_COUNT = struct.Struct("=3Q")
_LIBC = ctypes.CDLL(None, use_errno=True)


class PerfEvent(NamedTuple):
    """An event by its type and configuration, as in linux/perf_event.h."""

    type: int
    config: int


class Count(NamedTuple):
    """A counter's value, and the ns that it was wanted and that it counted."""

    value: int
    enabled: int
    running: int


def open_counter(event: PerfEvent, folder: int, cpu: int) -> int:
    """Return the descriptor of a new counter for the group of a folder's descriptor.

    Raises OSError, with ENOSYS on machines whose number of the call is unknown.
    """
    attributes = _ATTRIBUTES.pack(event.type, _SIZE, event.config, 0, 0, _TIMES, 0)
    call = _CALLS.get(platform.machine(), -1)
    flags = _OF_CGROUP | _CLOSE_ON_EXEC
    text = ctypes.create_string_buffer(attributes.ljust(_SIZE, b"\0"), _SIZE)
    counter: int = _LIBC.syscall(
        *(ctypes.c_long(call), text, ctypes.c_long(folder), ctypes.c_long(cpu)),
        *(ctypes.c_long(-1), ctypes.c_ulong(flags)),
    )
    if counter < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return counter


def read_counter(counter: int) -> Count:
    """Return what a counter counted since it was opened; raises OSError."""
    return Count(*_COUNT.unpack(os.read(counter, _COUNT.size)))
