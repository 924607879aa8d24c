"""Files that readers find either as they were or whole, also on a full disk."""

import json
import os
from pathlib import Path

_LARGEST = 64 * 1024 * 1024
_STEP = 16 * 1024


def write_whole(path: Path, text: str) -> None:
    """Replace a file at once: readers see the old text or the new; raises OSError.

    Nothing is forced to the disk: it outlives this process, not the machine.
    """
    draft = path.with_name(path.name + ".new")
    try:
        draft.write_text(text)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)  # it may hold the last free blocks
        raise


def write_reserved(path: Path, text: str, step: int = _STEP) -> None:
    """Replace a file as write_whole does, in blocks that it keeps; raises OSError.

    Two files beside it hold the blocks, and are written in turn; the path is a link to
    the one that was written last. So a full disk takes texts of about the same length
    as before, or longer by fewer than ``step`` bytes. Blanks are put behind the text,
    which JSON passes over.
    """
    try:
        _write_in_turn(path, text.encode(), step)
    except OSError:  # no link can be made here, or it did not fit
        write_whole(path, text)


def read_json(path: Path) -> object:
    """What stands in a JSON file; raises OSError and ValueError, in one line."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST >> 20} MiB")
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it: the system may take less at a time; raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _write_in_turn(path: Path, content: bytes, step: int) -> None:
    slots = [path.with_name(f"{path.name}.{turn}") for turn in "ab"]
    shown = path.stat() if path.exists() else None
    slot = next(one for one in slots if not _is(one, shown))
    _overwrite(slot, content, step)
    link = path.with_name(path.name + ".new")
    link.unlink(missing_ok=True)
    os.link(slot, link)
    link.replace(path)


def _is(path: Path, known: os.stat_result | None) -> bool:
    return known is not None and path.exists() and os.path.samestat(path.stat(), known)


def _overwrite(path: Path, content: bytes, step: int) -> None:
    """Write to the blocks that a file has; it grows by more than it needs now."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        room = os.fstat(descriptor).st_size
        if len(content) > room:
            room = (len(content) // step + 2) * step
        write_all(descriptor, content.ljust(room))
    finally:
        os.close(descriptor)
