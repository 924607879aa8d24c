"""A folder for sockets: ours alone, and with a name short enough for them."""

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
    """The folder of the bridge of a state folder; what an earlier one left is gone.

    Always the same one, so that a bridge that is killed leaves nothing that stays; a
    new one where somebody else has that name. Raises StateError.
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
    # Whatever has that name: anybody may write there.
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    known = folder.lstat()
    private = stat.S_ISDIR(known.st_mode) and not known.st_mode & 0o077
    if not private or known.st_uid != os.getuid():
        return Path(tempfile.mkdtemp(prefix="st-", dir=top))
    for left in folder.iterdir():
        left.unlink(missing_ok=True)
    return folder
