"""The audit trail: who changed what, who was refused, and what was restarted.

``{home}/log/audit.jsonl`` has one JSON object per line. The API, the supervisor and
commands append to it under a lock, so no line is lost or split.
"""

import json
import logging
import os
import pwd
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from core.linux.lock import turn
from core.linux.private_folder import make_private

_LOG = logging.getLogger(__name__)
_MAX_BYTES = 10 * 1024 * 1024
_OLD_FILES = 4
_LONGEST = 300


def record(
    home: Path, who: str, what: str, thing: str, outcome: str = "done", count: int = 1
) -> None:
    """Append one event; a failure to write is logged and does not stop the caller.

    ``what`` is such as ``host.added``; ``count`` is the number of equal events.
    """
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    event = {"time": now, "who": who, "what": what, "thing": thing, "outcome": outcome}
    short = {name: text[:_LONGEST] for name, text in event.items()}
    line = json.dumps({**short, **({"count": count} if count > 1 else {})}) + "\n"
    try:
        _append(_file(home), line.encode())
    except OSError as error:
        _LOG.error("not in the audit trail: %s %s %s: %s", who, what, thing, error)


class AuditTrail:
    """The audit trail of a home; each call of `news` reads what is new."""

    def __init__(self, home: Path) -> None:
        self._path = _file(home)
        # Kept open, so that no later file gets its inode.
        self._last: IO[bytes] | None = None

    def news(self) -> Iterator[dict[str, Any]]:
        """Events since the last call, oldest first; the first call gives all.

        Damaged lines are skipped. The next call returns events that are written during
        this one.
        """
        if not self._path.parent.is_dir() or self._is_at_end():
            return
        with ExitStack() as stack:
            with turn(self._path.parent, lambda: None, "audit"):
                kept = [one for one in _files(self._path) if one.exists()]
                opened = [stack.enter_context(one.open("rb")) for one in reversed(kept)]
                ends = [os.fstat(file.fileno()).st_size for file in opened]
            first = self._go_on(opened)
            for file, end in zip(opened[first:], ends[first:], strict=True):
                while file.tell() < end:
                    if event := _event(file.readline()):
                        yield event
            self._keep(opened)

    def close(self) -> None:
        """Close the file that was read last."""
        if self._last:
            self._last.close()

    def _is_at_end(self) -> bool:
        """Whether nothing was written since; a cheap check."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        last = self._last
        return (
            last is not None
            and os.path.samestat(found, os.fstat(last.fileno()))
            and found.st_size == last.tell()
        )

    def _go_on(self, opened: Sequence[IO[bytes]]) -> int:
        """Seek to the end of the last call; return the number of that file, else 0."""
        for number, file in enumerate(opened):
            if self._last and os.path.sameopenfile(file.fileno(), self._last.fileno()):
                file.seek(self._last.tell())
                return number
        return 0

    def _keep(self, opened: Sequence[IO[bytes]]) -> None:
        if opened:
            self.close()
            self._last = os.fdopen(os.dup(opened[-1].fileno()), "rb")
            # Both share one offset, which the other's buffer has moved to its end.
            self._last.seek(opened[-1].tell())


def events(home: Path) -> Iterator[dict[str, Any]]:
    """All stored events, oldest first, as from `AuditTrail.news`."""
    trail = AuditTrail(home)
    try:
        yield from trail.news()
    finally:
        trail.close()


def local_user(uid: int | None = None) -> str:
    """A user of this machine, by default the one that runs this process."""
    number = os.getuid() if uid is None else uid
    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"


def _append(path: Path, line: bytes) -> None:
    make_private(path.parent)
    with turn(path.parent, lambda: None, "audit"):
        if path.exists() and path.stat().st_size + len(line) > _MAX_BYTES:
            _rotate(path)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        file = os.open(path, flags, 0o600)
        try:
            _write_whole(file, line)
        finally:
            os.close(file)


def _write_whole(file: int, line: bytes) -> None:
    """Write a line completely or not at all: a full disk may take a part of it."""
    before = os.fstat(file).st_size
    written = os.write(file, line)
    if written < len(line):
        os.ftruncate(file, before)
        raise OSError(f"{written} of {len(line)} bytes were written")


def _rotate(path: Path) -> None:
    files = _files(path)
    for newer, older in reversed([*zip(files, files[1:], strict=False)]):
        if newer.exists():
            newer.replace(older)


def _files(path: Path) -> list[Path]:
    """The current file, then the older ones, newest first."""
    old = [path.with_name(f"{path.name}.{n}") for n in range(1, _OLD_FILES + 1)]
    return [path, *old]


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "time" in found else None


def _file(home: Path) -> Path:
    return home / "log" / "audit.jsonl"
