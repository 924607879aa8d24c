"""Instance names of processes, as PCP's agent makes them, and what a plan names."""

import re
from collections.abc import Iterable
from pathlib import Path

_NUMBER = re.compile("[0-9]{6,7}")  # Linux has at most 2^22 processes
_MOST = 4088  # bytes of a command line that PCP's agent reads


def instance_name(number: int, command: bytes) -> str:
    """The number and first word of a process, such as ``000001 /sbin/init``.

    A process without arguments, such as a kernel thread, has its name in parentheses.
    ``command`` (``comm``) is used if the process has ended meanwhile.
    """
    try:
        words = _read(number, "cmdline")
        first = _first(words) if words else b"(" + _own_name(number) + b")"
    except OSError:
        first = b"(" + command + b")"
    return f"{number:06d} {first.decode(errors='backslashreplace')}"


def numbers_of(instances: Iterable[str]) -> list[int]:
    """The numbers of the processes that instances name, each once and sorted."""
    words = {instance.split(" ", 1)[0] for instance in instances}
    return sorted({int(word) for word in words if _NUMBER.fullmatch(word)} - {0})


def _first(words: bytes) -> bytes:
    """The first word; an argument may itself contain spaces."""
    return words.split(b"\0")[0].split(b" ")[0]


def _own_name(number: int) -> bytes:
    """Its name from ``status``, where a worker of the kernel says what it works on."""
    line, _, _ = _read(number, "status").partition(b"\n")
    return line.removeprefix(b"Name:\t")


def _read(number: int, file: str) -> bytes:
    with Path(f"/proc/{number}/{file}").open("rb", buffering=0) as opened:
        return opened.read(_MOST)
