"""Read entries of a tar stream from an untrusted source.

Only the format of ``ingest.remote.collect`` is accepted (POSIX headers, GNU's long
names and links); anything else is an error. Python's own reader trusts sizes in
extended headers.
"""

import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ingest.errors import BundleError
from ingest.remote.collect import MAX_OUTPUT

_BLOCK = tarfile.BLOCKSIZE
_LONGEST_NAME = 4096
_LONG = {tarfile.GNUTYPE_LONGNAME: "name", tarfile.GNUTYPE_LONGLINK: "link"}
_KINDS = {
    tarfile.REGTYPE: tarfile.REGTYPE,
    tarfile.AREGTYPE: tarfile.REGTYPE,
    tarfile.DIRTYPE: tarfile.DIRTYPE,
    tarfile.SYMTYPE: tarfile.SYMTYPE,
}


@dataclass(frozen=True)
class TarEntry:
    """A file, a folder or a link; ``kind`` is one of tarfile's types."""

    name: str
    kind: bytes
    content: bytes
    link: str


def read_entries(exactly: Callable[[int], bytes]) -> Iterator[TarEntry]:
    """Yield the entries of a stream; ``exactly`` reads a number of bytes from it.

    Raises BundleError for anything but files, folders and links.
    """
    long: dict[str, str] = {}
    while (header := exactly(_BLOCK)).strip(b"\0"):
        info = _header(header)
        if info.type in _LONG:
            text = _content(exactly, info.size, _LONGEST_NAME).rstrip(b"\0")
            long[_LONG[info.type]] = text.decode(errors="surrogateescape")
            continue
        name = long.pop("name", info.name).rstrip("/")
        link = long.pop("link", info.linkname)
        if info.type not in _KINDS:
            raise BundleError(
                "the copy contains an entry that is not a file, folder or link"
            )
        content = _content(exactly, info.size, MAX_OUTPUT)
        yield TarEntry(name, _KINDS[info.type], content, link)


def _header(block: bytes) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError):
        raise BundleError("the copy is damaged") from None


def _content(exactly: Callable[[int], bytes], size: int, most: int) -> bytes:
    if not 0 <= size <= most:
        raise BundleError(
            f"the copy contains an entry of {size} bytes; {most} are allowed"
        )
    return exactly(-(-size // _BLOCK) * _BLOCK)[:size]
