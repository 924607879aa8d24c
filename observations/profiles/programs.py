"""Has perf unwind the stacks of a process that starts another program.

It is sent to the host of the command, so it imports only what is sent with it.
"""

from __future__ import annotations

import mmap
import struct

_HEADER = struct.Struct("=IHH")  # kind, flags and size of a record
_SECTION = struct.Struct("=QQ")  # where the records begin, and their bytes
_SECTION_AT = 40
_COMM, _FORK = 3, 7
# The flag of a new name by exec, and of a fork before it.
_EXEC = 1 << 13
_MODE = 7


def separate_programs(path: str, parent: int) -> None:
    """Turn each start of a program in perf's data into that of a process of its own.

    After exec, perf keeps the libraries of the program before, such as the shell's. If
    one was loaded at a lower address, perf (6.1) searches the tables of the new program
    from there, and cannot unwind through the library.
    """
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:  # noqa: PTH123
        at, size = _SECTION.unpack_from(data, _SECTION_AT)
        end = min(at + size, len(data))
        while at + _HEADER.size <= end:
            kind, flags, length = _HEADER.unpack_from(data, at)
            if kind == _COMM and flags & _EXEC:
                body = at + _HEADER.size
                pid, thread = struct.unpack_from("=II", data, body)
                _HEADER.pack_into(data, at, _FORK, flags & _MODE | _EXEC, length)
                struct.pack_into("=IIII", data, body, pid, parent, thread, parent)
            if length < _HEADER.size:
                return
            at += length
