"""Read system files with a size limit and one-line errors."""

import errno
import os
import re
import stat
from pathlib import Path

from ingest.errors import (
    MalformedSourceError,
    SourceDeniedError,
    SourceMissingError,
    SourceRefusedError,
)
from ingest.gaps import report_gap
from ontology.numbers import read_whole

_CHOSEN = re.compile(r"\[([A-Za-z0-9_-]+)\]")
MAX_FILE = 64 * 1024 * 1024


def read_file(path: Path, limit: int = MAX_FILE) -> bytes:
    """All bytes of a regular file, at most ``limit``.

    Raises SourceMissingError, SourceRefusedError or, for its size,
    MalformedSourceError.
    """
    try:
        with open(_regular(path), "rb") as file:
            # A stated size over the limit is refused unread; /proc states no sizes.
            stated = os.fstat(file.fileno()).st_size
            content = b"" if stated > limit else file.read(limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise SourceMissingError(f"{path} does not exist: check the path") from None
    except PermissionError:
        raise SourceDeniedError(
            f"{path} cannot be read (permission denied): run as root, or change its "
            "permissions"
        ) from None
    except OSError as error:
        raise SourceRefusedError(
            f"{path} cannot be read ({error.strerror}): check that it is a regular file"
        ) from None
    if max(stated, len(content)) > limit:
        raise MalformedSourceError(
            f"{path} is larger than the limit of {limit} bytes: use a smaller file"
        )
    return content


def _regular(path: Path) -> int:
    """Open a regular file; raises OSError for others, which may never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is a folder, a pipe, a socket or a device")


def read_text(path: Path) -> str:
    """Read a text file, replacing invalid UTF-8. Raises the errors of read_file."""
    return read_file(path).decode(errors="replace")


def read_value(path: Path) -> str | None:
    """Read one attribute below /sys or /proc, stripped; None if it cannot be read.

    The kernel refuses many attributes with various errors (EINVAL for the speed of a
    link that is down). All mean that there is no value.
    """
    try:
        with path.open("rb") as file:
            text = file.read(1 << 20).decode(errors="replace")
    except OSError:
        return None
    return text.strip("\0 \t\n") or None


def read_number(path: Path) -> int | None:
    """Read one whole number below /sys or /proc; None if it cannot be read."""
    value = read_value(path)
    try:
        return None if value is None else read_whole(value)
    except ValueError:
        report_gap(str(path), value, "a whole number")
        return None


def parse_choice(text: str | None) -> str | None:
    """The selected word of ``always [madvise] never``: madvise.

    A single word needs no brackets.
    """
    chosen = _CHOSEN.search(text or "")
    return chosen[1] if chosen else (text or None)


def parse_cpulist(text: str) -> list[int]:
    """Parse the kernel's CPU lists: ``0-3,8`` is [0, 1, 2, 3, 8].

    Raises MalformedSourceError.
    """
    try:
        ends = [part.partition("-") for part in text.strip().split(",") if part]
        ranges = [
            range(read_whole(low), read_whole(high or low) + 1) for low, _, high in ends
        ]
    except ValueError:
        raise MalformedSourceError(
            f"{text[:80]!r} is not a list of CPUs such as 0-3,8"
        ) from None
    return sorted({cpu for cpus in ranges for cpu in cpus})
