"""Private state: no other user can read the files or lock one of them."""

import os
import stat
from pathlib import Path

from core.errors import StateFolderError

_OTHERS = 0o077
# Files that a state folder holds soon after its first use and other folders do not.
# Names such as `log` are too common.
_MARKS = (
    *("stack.json", "supervisor.lock", "up.lock", "fuseki/twin", "bridge/hosts.json"),
    *("access/local.json", "access/tokens.json", "log/audit.jsonl"),
)


def keep_files_private() -> None:
    """Set the umask so that new files, also of child processes, are private."""
    os.umask(_OTHERS)


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents, accessible to the owner only."""
    for one in reversed((folder, *folder.parents)):
        if not one.exists():
            one.mkdir(mode=0o700, exist_ok=True)


def close_home(home: Path) -> None:
    """Create the state folder, or make an existing one inaccessible to other users.

    Raises OSError, and StateFolderError if that would affect other files.
    """
    make_private(home)
    mode = home.stat().st_mode
    if not mode & _OTHERS:
        return
    if mode & stat.S_ISVTX or not _is_state(home):
        raise StateFolderError(
            f"{home} is open to other users and holds other files: set SUPERTWIN_HOME "
            f"to a folder of its own, or `chmod 700 {home}`"
        )
    try:
        home.chmod(0o700)
    except PermissionError:
        raise StateFolderError(
            f"{home} is open to other users and belongs to one of them: set "
            "SUPERTWIN_HOME to a folder of your own"
        ) from None


def _is_state(home: Path) -> bool:
    return not any(home.iterdir()) or any((home / mark).exists() for mark in _MARKS)
