"""Unpacks the needed files of a crate, which is a folder or a zip."""

import errno
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from observations.errors import CrateError
from observations.exchange.crate import METADATA

MOST_BYTES = 512 << 20
# The limit for files that are read into memory whole: the metadata and the graph.
MOST_HELD = 32 << 20
_PIECE = 1 << 20
_FIX = "copy the crate again, or export the run again"
_METHODS = {
    *(zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
    *(zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA),
}
_ENCRYPTED = 0x1
# What zipfile raises for damaged files and unknown formats.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, RuntimeError, ValueError),
)


def read_crates(
    path: Path, wanted: AbstractSet[str], room: Path, most: int = MOST_BYTES
) -> Generator[dict[str, Path]]:
    """Yield one crate, or each crate in a folder or zip; see `read_crate`."""
    with _with_path_in_errors(path):
        names = _names_of(path)
    inside = sorted(name.removesuffix(METADATA) for name in names)
    for prefix in [""] if METADATA in names else inside or [""]:
        with read_crate(path, wanted, room, most, prefix) as files:
            yield files


@contextmanager
def read_crate(
    path: Path,
    wanted: AbstractSet[str],
    room: Path,
    most: int = MOST_BYTES,
    prefix: str = "",
) -> Iterator[dict[str, Path]]:
    """Copy the metadata and the wanted files of a crate; give the copies by name.

    They may be larger than memory and exist in a folder below ``room`` until the block
    ends. ``prefix`` is the folder of the crate among several, with its slash. Other
    files are not unpacked. Raises CrateError, also for more than ``most`` bytes.
    """
    read = _from_zip if path.is_file() else _from_folder
    with TemporaryDirectory(prefix="crate-", dir=room) as folder:
        with _with_path_in_errors(path):
            names = {prefix + name for name in wanted | {METADATA}}
            files = read(path, names, Path(folder), most)
        if prefix + METADATA not in files:
            raise CrateError(
                f"{path} is not an RO-Crate (it has no {METADATA}): name what "
                "`supertwin export observation` wrote"
            )
        yield {name.removeprefix(prefix): copy for name, copy in files.items()}


def read_whole(path: Path, name: str) -> bytes:
    """Read a file into memory; ``name`` is its name in the crate.

    Raises CrateError if it is too large for that.
    """
    if path.stat().st_size > MOST_HELD:
        limit = f"{MOST_HELD >> 20} MiB, which is the limit: export the run again"
        raise CrateError(f"the crate's {name} has more than {limit}")
    return path.read_bytes()


@contextmanager
def _with_path_in_errors(path: Path) -> Iterator[None]:
    """Make every read error name the crate."""
    try:
        yield
    except CrateError as error:
        raise CrateError(f"{path}: {error}") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:  # on the disk that it is unpacked to
            raise
        raise CrateError(f"{path} cannot be read ({error}): {_FIX}") from None
    except _DAMAGED as error:
        raise CrateError(
            f"{path} cannot be read ({error or 'it is cut off'}): {_FIX}"
        ) from None


def _names_of(path: Path) -> list[str]:
    """Find the metadata files of one or several crates."""
    if path.is_file():
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    else:
        found = (*path.glob(METADATA), *path.glob(f"*/{METADATA}"))
        names = [str(one.relative_to(path)) for one in found]
    return [name for name in names if name.rpartition("/")[2] == METADATA]


def _from_folder(
    folder: Path, wanted: AbstractSet[str], target: Path, most: int
) -> dict[str, Path]:
    found = (
        (name, partial(_opened, folder / name))
        for name in sorted(wanted)
        if _is_there(folder, name)
    )
    return _copied(found, target, most)


def _is_there(folder: Path, name: str) -> bool:
    """Whether a crate has a file; a pipe never ends, and a link may leave the crate."""
    path = folder / name
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise CrateError(f"its {name} is not a regular file: export the run again")
    return path.is_file()


def _opened(path: Path) -> IO[bytes]:
    return path.open("rb")


def _from_zip(
    path: Path, wanted: AbstractSet[str], target: Path, most: int
) -> dict[str, Path]:
    with zipfile.ZipFile(path) as archive:
        members = [one for one in archive.infolist() if one.filename in wanted]
        for one in members:
            _check_member(one)
        found = ((one.filename, partial(archive.open, one)) for one in members)
        return _copied(found, target, most)


def _check_member(member: zipfile.ZipInfo) -> None:
    if member.flag_bits & _ENCRYPTED:
        raise CrateError(f"{member.filename} is encrypted: pack it without a password")
    if member.compress_type not in _METHODS:
        raise CrateError(
            f"{member.filename} is compressed by method {member.compress_type}, which "
            "is not supported: pack it by `zip` with its defaults"
        )


def _copied(
    files: Iterable[tuple[str, Callable[[], IO[bytes]]]], target: Path, most: int
) -> dict[str, Path]:
    found: dict[str, Path] = {}
    left = most
    for name, opened in files:
        if name in found:
            raise CrateError(f"it holds {name} twice: pack it again")
        found[name] = target / str(len(found))
        with opened() as file, found[name].open("wb") as copy:
            while piece := file.read(_PIECE):
                left -= len(piece)
                if left < 0:
                    raise CrateError(
                        f"it holds more than {most >> 20} MiB, which is the limit: "
                        "take samples out of its series"
                    )
                copy.write(piece)
    return found
