"""State belongs to its owner: no other user can read it, or lock a file in it."""

import os
import stat
from collections.abc import Collection
from pathlib import Path

from core.errors import MendableError

_OTHERS = 0o077
# What a state folder holds soon after it was first used.
_MARKS = {"access", "bridge", "fuseki", "log", "stack.json", "store", "turns"}
_MARKS |= {"cost.json", "observations", "supervisor.lock", "topology", "up.lock"}


def keep_files_private() -> None:
    """Make every file of this process, and of those that it starts, its owner's."""
    os.umask(_OTHERS)


def make_private(folder: Path) -> None:
    """Make a folder, and those above that are missing, for their owner alone."""
    for one in reversed((folder, *folder.parents)):
        if not one.exists():
            one.mkdir(mode=0o700, exist_ok=True)


def close_home(home: Path) -> None:
    """Make the state folder, or close an existing one to all other users.

    Raises MendableError where the folder is not ours to close, OSError.
    """
    make_private(home)
    mode = home.stat().st_mode
    if not mode & _OTHERS:
        return
    if mode & stat.S_ISVTX or not _is_state({path.name for path in home.iterdir()}):
        raise MendableError(
            f"{home} is open to other users and holds other files: set SUPERTWIN_HOME "
            f"to a folder of its own, or `chmod 700 {home}`"
        )
    try:
        home.chmod(0o700)
    except PermissionError:
        raise MendableError(
            f"{home} is open to other users and belongs to one of them: set "
            "SUPERTWIN_HOME to a folder of your own"
        ) from None


def _is_state(names: Collection[str]) -> bool:
    return not names or not _MARKS.isdisjoint(names)
