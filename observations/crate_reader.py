"""Reads the files of a crate, a folder or a zip, as far as they are needed."""

import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from observations.crate import METADATA
from observations.errors import CrateError

MOST_BYTES = 512 << 20
_PIECE = 1 << 20
_METHODS = {
    *(zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
    *(zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA),
}
_ENCRYPTED = 0x1
# What zipfile raises for what is damaged, or what it knows no way to read.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(OSError, EOFError, RuntimeError, ValueError),
)


def read_crates(
    path: Path, wanted: AbstractSet[str], most: int = MOST_BYTES
) -> Iterator[dict[str, bytes]]:
    """One crate, or each crate in a folder or zip of several, as `read_crate`."""
    with _told_of(path):
        names = _names_of(path)
    inside = sorted(name.removesuffix(METADATA) for name in names)
    for prefix in [""] if METADATA in names else inside or [""]:
        yield read_crate(path, wanted, most, prefix)


def read_crate(
    path: Path, wanted: AbstractSet[str], most: int = MOST_BYTES, prefix: str = ""
) -> dict[str, bytes]:
    """The metadata and the wanted files of a crate, by their names.

    ``prefix`` is the folder of the crate among several, with its slash. Other files
    are not unpacked. Raises CrateError, also for more than ``most`` bytes.
    """
    read = _from_zip if path.is_file() else _from_folder
    with _told_of(path):
        files = read(path, {prefix + name for name in wanted | {METADATA}}, most)
    if prefix + METADATA not in files:
        raise CrateError(f"{path} is not an RO-Crate: it has no {METADATA}")
    return {name.removeprefix(prefix): content for name, content in files.items()}


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Every failure to read names the crate."""
    try:
        yield
    except CrateError as error:
        raise CrateError(f"{path}: {error}") from None
    except _DAMAGED as error:
        raise CrateError(f"{path} cannot be read: {error or 'it is cut off'}") from None


def _names_of(path: Path) -> list[str]:
    """Where the metadata of one or several crates is."""
    if path.is_file():
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    else:
        found = (*path.glob(METADATA), *path.glob(f"*/{METADATA}"))
        names = [str(one.relative_to(path)) for one in found]
    return [name for name in names if name.rpartition("/")[2] == METADATA]


def _from_folder(folder: Path, wanted: AbstractSet[str], most: int) -> dict[str, bytes]:
    paths = ((name, folder / name) for name in sorted(wanted))
    found = ((name, partial(_opened, one)) for name, one in paths if one.is_file())
    return _read(found, most)


def _opened(path: Path) -> IO[bytes]:
    return path.open("rb")


def _from_zip(path: Path, wanted: AbstractSet[str], most: int) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        members = [one for one in archive.infolist() if one.filename in wanted]
        for one in members:
            _check_member(one)
        return _read(
            ((one.filename, partial(archive.open, one)) for one in members), most
        )


def _check_member(member: zipfile.ZipInfo) -> None:
    if member.flag_bits & _ENCRYPTED:
        raise CrateError(f"{member.filename} is encrypted: pack it without a password")
    if member.compress_type not in _METHODS:
        raise CrateError(
            f"{member.filename} is compressed by method {member.compress_type}, which "
            "is not supported: pack it by `zip` with its defaults"
        )


def _read(
    files: Iterable[tuple[str, Callable[[], IO[bytes]]]], most: int
) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    left = most
    for name, opened in files:
        if name in found:
            raise CrateError(f"it holds {name} twice: pack it again")
        with opened() as file:
            content = bytearray()
            while piece := file.read(_PIECE):
                content += piece
                if len(content) > left:
                    raise CrateError(
                        f"it holds more than {most >> 20} MiB, which is the limit: "
                        "take samples out of its series"
                    )
        found[name] = bytes(content)
        left -= len(content)
    return found
