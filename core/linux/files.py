"""Atomic file writes that also work on a full disk: readers see the old or new text."""

import json
import os
from contextlib import suppress
from pathlib import Path

_LARGEST = 64 * 1024 * 1024
_STEP = 16 * 1024


def write_whole(path: Path, text: str) -> None:
    """Replace a file atomically: readers see the old text or the new; raises OSError.

    There is no fsync: the file survives the end of this process, but perhaps not a
    crash of the machine.
    """
    draft = path.with_name(path.name + ".new")
    try:
        draft.write_bytes(text.encode())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)  # it may hold the last free blocks
        raise


def write_reserved(path: Path, text: str, step: int = _STEP) -> None:
    """Replace a file as write_whole does, in preallocated blocks; raises OSError.

    Two files next to the path hold the blocks and are written alternately; the path is
    a hard link to the one written last. On a full disk, a text of the same length as
    before, or longer by fewer than ``step`` bytes, can still be written, even if only
    one text was written before. The text is padded with spaces, which JSON parsers
    ignore.
    """
    try:
        _write_in_turn(os.fspath(path), text.encode(), step)
    except OSError:  # no link can be made here, or the text did not fit
        write_whole(path, text)


def read_json(path: Path) -> object:
    """Return the content of a JSON file; raises OSError and a one-line ValueError."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST >> 20} MiB")
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of the data, in several system calls if needed; raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _write_in_turn(path: str, content: bytes, step: int) -> None:
    slot, other = f"{path}.a", f"{path}.b"
    if _is_same(slot, path):
        slot, other = other, slot
    _overwrite(slot, content, step)
    _show(slot, path)
    if not os.path.exists(other):
        with suppress(OSError):  # the text itself is written
            _overwrite(other, content, step)


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except FileNotFoundError:
        return False


def _show(slot: str, path: str) -> None:
    """Make the path a link to a slot, atomically."""
    link = f"{path}.new"
    try:
        os.link(slot, link)
    except FileExistsError:  # left by a process that was killed
        os.unlink(link)
        os.link(slot, link)
    os.replace(link, path)


def _overwrite(path: str, content: bytes, step: int) -> None:
    """Overwrite the blocks of a file; when it must grow, allocate more than needed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        room = os.fstat(descriptor).st_size
        if len(content) > room:
            room = (len(content) // step + 2) * step
        write_all(descriptor, content.ljust(room))
    finally:
        os.close(descriptor)
