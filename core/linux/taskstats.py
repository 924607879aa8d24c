"""Receives the kernel's accounting of each task that ends, by generic netlink.

See Documentation/accounting/taskstats.rst and include/uapi/linux/taskstats.h.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from core.linux.errors import TaskstatsError

# NETLINK_GENERIC, GENL_ID_CTRL, and NLM_F_REQUEST | NLM_F_ACK.
_GENERIC, _CONTROL, _REQUEST_ACK = 16, 16, 1 | 4
# CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID and _NAME.
_GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 3, 1, 2
# TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID and _REGISTER_CPUMASK.
_GET, _OF_PROCESS, _REGISTER = 1, 1, 3
# TASKSTATS_TYPE_AGGR_PID and _STATS.
_OF_TASK, _STATS = 4, 3
_ERROR = 2
_MESSAGE, _GENERIC_HEADER = struct.Struct("=IHHII"), struct.Struct("=BBH")
_ATTRIBUTE, _CODE, _FAMILY = (struct.Struct(f"={c}") for c in ("HH", "i", "H"))
_MOST_BYTES = 1 << 16
_BUFFER_BYTES = 4 << 20
_SECONDS = 2.0
_FORCE_BUFFER = 33  # SO_RCVBUFFORCE
_DELAYS = Path("/proc/sys/kernel/task_delayacct")
_SOCKETS = Path("/proc/net/netlink")
# Offsets in struct taskstats. Only version 15 moved these fields; 16 moved them back.
_MOVED, _VERSION = 15, struct.Struct("=H")
_CPU_DELAY, _IO_DELAY, _SWAP_DELAY, _RUN = 24, 40, 56, 72
_PIDS, _RECLAIM_DELAY = 128, 320
_SHORTEST = 328
_U64, _TWO = struct.Struct("=Q"), struct.Struct("=2I")


class TaskExit(NamedTuple):
    """A task that ended: its thread id, its parent's process id, and times in ns."""

    tid: int
    parent: int
    cpu: int
    cpu_delay: int
    io_delay: int
    swap_delay: int
    reclaim_delay: int


class ExitSocket:
    """Receives the tasks that end on this machine; raises TaskstatsError.

    ``overruns`` counts the reads that found that the kernel had dropped messages.
    """

    def __init__(self, buffer: int = _BUFFER_BYTES) -> None:
        self.overruns = 0
        try:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC)
        except OSError as error:
            raise _refused(error) from error
        try:
            self._set_buffer(buffer)
            self._socket.bind((0, 0))
            self._socket.settimeout(_SECONDS)
            self._family = self._find_family()
            self._check_layout()
            possible = Path("/sys/devices/system/cpu/possible").read_text().strip()
            self._ask(self._family, _GET, _REGISTER, possible.encode() + b"\0")
        except OSError as error:
            self._socket.close()
            raise _refused(error) from error
        except TaskstatsError:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    def fileno(self) -> int:
        """The descriptor of the socket, to wait for messages."""
        return self._socket.fileno()

    def take(self) -> Iterator[TaskExit]:
        """The tasks that ended since the last call."""
        while True:
            try:
                data = self._socket.recv(_MOST_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                self.overruns += 1
                continue
            yield from parse_exits(data, self._family)

    def lost(self) -> int:
        """How many messages the kernel dropped because the buffer was full."""
        port = str(self._socket.getsockname()[0])
        for line in _SOCKETS.read_text().splitlines()[1:]:
            words = line.split()
            if words[1:3] == [str(_GENERIC), port]:
                return int(words[8])
        return 0

    def close(self) -> None:
        """Stop receiving."""
        self._socket.close()

    def _set_buffer(self, size: int) -> None:
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _FORCE_BUFFER, size)
        except PermissionError:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)

    def _find_family(self) -> int:
        answer = self._ask(_CONTROL, _GET_FAMILY, _FAMILY_NAME, b"TASKSTATS\0")
        found = dict(attributes(answer[_GENERIC_HEADER.size :]))
        family: int = _FAMILY.unpack_from(found[_FAMILY_ID])[0]
        return family

    def _check_layout(self) -> None:
        """Request the accounting of this process, to check its version."""
        own = struct.pack("=I", os.getpid())
        check_version(self._ask(self._family, _GET, _OF_PROCESS, own))

    def _ask(self, family: int, command: int, key: int, value: bytes) -> bytes:
        """Send a request; return its answer, or b"" if it is only acknowledged."""
        attribute = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), key) + value
        body = _GENERIC_HEADER.pack(command, 1, 0) + attribute
        body += b"\0" * (-len(body) % 4)
        size = _MESSAGE.size + len(body)
        self._socket.send(_MESSAGE.pack(size, family, _REQUEST_ACK, 1, 0) + body)
        answer = b""
        while True:
            for kind, payload in messages(self._socket.recv(_MOST_BYTES)):
                if kind == _ERROR:
                    (code,) = _CODE.unpack_from(payload)
                    if code:
                        raise OSError(-code, os.strerror(-code))
                    return answer
                answer = payload


def delays_are_counted() -> bool:
    """Whether the kernel counts delays; otherwise they are 0 for every task."""
    try:
        return _DELAYS.read_text().strip() != "0"
    except OSError:  # older kernels decide at boot, and do not show what they decided
        return True


def check_version(answer: bytes) -> None:
    """Raise TaskstatsError if the version of an answer has another layout."""
    for stats in _accounts(answer):
        if _VERSION.unpack_from(stats)[0] == _MOVED:
            raise TaskstatsError(
                "version 15 of the kernel's taskstats has another layout: update the "
                "kernel to one with version 16"
            )


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The types and payloads of netlink messages; stops at a damaged one."""
    at = 0
    while at + _MESSAGE.size <= len(data):
        size, kind, _, _, _ = _MESSAGE.unpack_from(data, at)
        if not _MESSAGE.size <= size <= len(data) - at:
            return
        yield kind, data[at + _MESSAGE.size : at + size]
        at += (size + 3) & ~3


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The types and values of netlink attributes; stops at a damaged one."""
    at = 0
    while at + _ATTRIBUTE.size <= len(data):
        size, kind = _ATTRIBUTE.unpack_from(data, at)
        if not _ATTRIBUTE.size <= size <= len(data) - at:
            return
        yield kind & 0x3FFF, data[at + _ATTRIBUTE.size : at + size]
        at += (size + 3) & ~3


def parse_exits(data: bytes, family: int) -> Iterator[TaskExit]:
    """The tasks in messages, without the sums that the kernel adds for processes."""
    for kind, payload in messages(data):
        if kind != family:
            continue
        yield from map(_exit, _accounts(payload))


def _accounts(payload: bytes) -> Iterator[bytes]:
    """Each struct taskstats of a task in a message."""
    for outer, inside in attributes(payload[_GENERIC_HEADER.size :]):
        stats = dict(attributes(inside)).get(_STATS) if outer == _OF_TASK else None
        if stats is not None and len(stats) >= _SHORTEST:
            yield stats


def _exit(stats: bytes) -> TaskExit:
    times = (_RUN, _CPU_DELAY, _IO_DELAY, _SWAP_DELAY, _RECLAIM_DELAY)
    values = (_U64.unpack_from(stats, at)[0] for at in times)
    return TaskExit(*_TWO.unpack_from(stats, _PIDS), *values)


def _refused(error: OSError) -> TaskstatsError:
    return TaskstatsError(
        f"the kernel does not report tasks that end ({error.strerror or error}): it "
        "needs CONFIG_TASKSTATS, and CAP_NET_ADMIN in the first network namespace"
    )
