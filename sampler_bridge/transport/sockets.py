"""A private folder for sockets, with a name short enough for them."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from core.linux.ssh.client import LONGEST_SOCKET
from sampler_bridge.errors import StateError

_LONGEST_NAME = 16


def sockets_folder(state: Path) -> Path:
    """The folder for the sockets of a state folder's bridge, emptied.

    Its name is always the same, so that killed bridges leave only one folder; another
    name is used if another user has that one. Raises StateError.
    """
    number = crc32(f"{os.getuid()} {state.resolve()}".encode())
    try:
        return _emptied(_top(), f"st-{number:08x}")
    except OSError as error:
        raise StateError(
            f"no folder for sockets can be made ({error}): make room among the "
            "temporary files"
        ) from error


def _top() -> Path:
    usual = Path(tempfile.gettempdir())
    short = len(str(usual)) + 2 * _LONGEST_NAME <= LONGEST_SOCKET
    return usual if short else Path("/tmp")  # noqa: S108


def _emptied(top: Path, name: str) -> Path:
    folder = top / name
    # Any user may have created something of this name.
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    known = folder.lstat()
    private = stat.S_ISDIR(known.st_mode) and not known.st_mode & 0o077
    if not private or known.st_uid != os.getuid():
        return Path(tempfile.mkdtemp(prefix="st-", dir=top))
    for replaced in folder.iterdir():
        replaced.unlink(missing_ok=True)
    return folder
