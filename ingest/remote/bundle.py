"""Unpacking the copy of a machine that ``ingest.remote.collect`` made.

It comes from a machine that may be anyone's, so nothing in it is trusted: only files,
folders and links are taken, each once, none outside the folder that it is unpacked to
and none through a link; links are made last, and each has to stay inside.
"""

import errno
import fcntl
import json
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.linux.ssh.reasons import printable
from ingest.errors import BundleError, SourceError
from ingest.remote.collect import FIRST, LAST, MAX_OUTPUT, MAX_TOTAL
from ingest.remote.tar import Entry, read_entries
from ingest.sources.files import read_value
from ingest.sources.machine import Machine

_MOST = MAX_TOTAL + 2 * MAX_OUTPUT
_MOST_ENTRIES = 500_000
_BESIDE = 1 << 20
_MEMORY = "/dev/shm"  # noqa: S108
_PREFIX = "supertwin-copy-"
_NEW_SECONDS = 60.0
_FOLDERS = {"root", "tools"}
# What only the disk or the system here can be blamed for.
_OURS = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EMFILE}
# What hwloc asks the system itself for and not its files.
_SYSTEM = {
    "OSRelease": "proc/sys/kernel/osrelease",
    "HostName": "proc/sys/kernel/hostname",
}

Read = Callable[[int], bytes]


@dataclass(frozen=True)
class Copied:
    """A machine's copy: whether root made it, what it could not read, what it lacks."""

    machine: Machine
    as_root: bool = False
    unread: list[str] = field(default_factory=list)
    cut: str = ""


@contextmanager
def unpacked(read: Read) -> Iterator[Copied]:
    """The copy in a stream, unpacked until the block ends; raises BundleError.

    ``read`` gives at most so many bytes, none at the end. What stands before the copy,
    such as what a login prints, is skipped.
    """
    place = _place_for()
    _sweep(Path(place))
    with (
        tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place) as folder,
        _held(folder),
    ):
        yield unpack(read, Path(folder))


def host_in(path: Path) -> str:
    """The name that the machine in a file has for itself; empty where it has none.

    Raises BundleError.
    """
    with path.open("rb") as file:
        try:
            for entry in read_entries(_Source(file.read1).exactly):
                if entry.name == f"root/{_SYSTEM['HostName']}":
                    return entry.content.decode(errors="replace").strip()
        except BundleError as error:
            raise BundleError(f"{path}: {error}") from None
    return ""


def _place_for() -> str:
    """Memory where there is enough: a copy is tens of thousands of small files."""
    usual = tempfile.gettempdir()
    try:
        disk = os.statvfs(_MEMORY)
    except OSError:
        return usual
    free = disk.f_bavail * disk.f_frsize
    enough = free > 2 * _MOST and os.access(_MEMORY, os.W_OK)
    return _MEMORY if enough and "TMPDIR" not in os.environ else usual


@contextmanager
def _held(folder: str | Path) -> Iterator[bool]:
    """Lock a folder until the block or this process ends; False where another does."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield _locked(descriptor)
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sweep(place: Path) -> None:
    """Remove copies of ours whose process was killed."""
    for folder in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            about = folder.lstat()
            # A new one is locked a moment after it is made.
            old = time.time() - about.st_mtime > _NEW_SECONDS
            if about.st_uid == os.geteuid() and old:
                with _held(folder) as abandoned:
                    shutil.rmtree(folder) if abandoned else None


def unpack(read: Read, folder: Path) -> Copied:
    """Unpack the copy in a stream to an empty folder; raises BundleError."""
    source = _Source(read)
    links: list[tuple[Path, str]] = []
    texts: dict[str, dict[str, Any]] = {}
    for name in _FOLDERS:
        (folder / name).mkdir()
    try:
        for number, entry in enumerate(read_entries(source.exactly)):
            if number > _MOST_ENTRIES:
                raise BundleError(f"the copy has more than {_MOST_ENTRIES} entries")
            if entry.name in (FIRST, LAST):
                texts[entry.name] = _json(entry)
            else:
                _place(entry, folder, links)
            if entry.name == LAST:
                break
        else:
            raise BundleError("the copy is cut short: collect the machine anew")
        _link(links, folder / "root")
    except OSError as error:
        if error.errno in _OURS:
            raise
        raise BundleError(
            f"the copy has a name that cannot be used ({error.strerror})"
        ) from None
    return _copied(folder, texts)


class _Source:
    """A stream from where the copy begins; bounded."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._left = _MOST
        self._held = self._begin()

    def exactly(self, size: int) -> bytes:
        """So many bytes; raises BundleError where the stream is too short or long."""
        self._left -= size
        if self._left < 0:
            raise BundleError(f"the copy is larger than {_MOST >> 20} MiB")
        while len(self._held) < size:
            piece = self._read(max(1 << 16, size - len(self._held)))
            if not piece:
                raise BundleError("the copy is cut short: collect the machine anew")
            self._held += piece
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken

    def _begin(self) -> bytearray:
        """Skip what comes before the copy: banners, what a shell's profile prints."""
        mark = FIRST.encode() + b"\0"
        held = bytearray()
        while (start := held.find(mark)) < 0:
            piece = self._read(1 << 16)
            if not piece or len(held) > _BESIDE:
                said = printable(bytes(held[:2000]).decode(errors="replace"))
                what = f"it begins with {said[:80]!r}" if said else "it is empty"
                raise BundleError(f"this is no copy of a machine ({what})")
            held += piece
        del held[:start]
        return held


def _place(entry: Entry, folder: Path, links: list[tuple[Path, str]]) -> None:
    parts = entry.name.split("/")
    inside = parts[0] in _FOLDERS and len(parts) > 1
    if not inside or {"", ".", ".."} & set(parts) or "\0" in entry.name:
        raise BundleError(f"the copy has an entry {printable(entry.name)!r} outside it")
    path = folder / entry.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.kind == tarfile.SYMTYPE and parts[0] == "root":
        links.append((path, entry.link))
    elif entry.kind == tarfile.DIRTYPE:
        path.mkdir(exist_ok=True)
    elif entry.kind == tarfile.REGTYPE:
        with path.open("xb") as file:
            file.write(entry.content)
    else:
        raise BundleError(
            f"the copy has an entry {printable(entry.name)!r} that is no file"
        )


def _link(links: list[tuple[Path, str]], root: Path) -> None:
    """Make the links, and see that none leads out or nowhere for ever."""
    for path, target in links:
        path.symlink_to(target)
    real = os.path.realpath(root)
    for path, target in links:
        end = os.path.realpath(path)
        out = target.startswith("/") or os.path.commonpath([real, end]) != real
        if out or _loops(path):
            shown = printable(str(path.relative_to(root)))
            raise BundleError(f"the copy has a link {shown!r} that leads out of it")


def _loops(path: Path) -> bool:
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _json(entry: Entry) -> dict[str, Any]:
    try:
        found = json.loads(entry.content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BundleError(f"the copy's {entry.name} cannot be read")
    return found


def _copied(folder: Path, texts: dict[str, dict[str, Any]]) -> Copied:
    last = texts[LAST]
    tools, unread = last.get("tools"), last.get("unread")
    machine = Machine(folder / "root", folder / "tools", _outcomes(tools))
    _tell_hwloc(machine)
    return Copied(
        machine,
        texts.get(FIRST, {}).get("root") is True,
        [printable(str(path)) for path in unread] if isinstance(unread, list) else [],
        printable(str(last.get("cut") or "")),
    )


def _outcomes(tools: Any) -> dict[str, dict[str, Any]]:
    """How each tool fared; what is no outcome is as if it had not been asked."""
    found = tools.items() if isinstance(tools, dict) else ()
    return {
        name: {
            "reason": printable(str(outcome["reason"])) if outcome["reason"] else None,
            "missing": outcome.get("missing") is True,
        }
        for name, outcome in found
        if isinstance(outcome, dict) and "reason" in outcome and "/" not in name
    }


def _tell_hwloc(machine: Machine) -> None:
    """The file in which hwloc looks for what it would ask a live system.

    Its form is that of hwloc's HWLOC_DUMP_NOFILE_INFO; without an architecture, hwloc
    does not know how to read the copied /proc/cpuinfo.
    """
    path = machine.root / "proc/hwloc-nofile-info"
    try:
        architecture = printable(machine.tool("architecture").decode(errors="replace"))
    except SourceError:
        return
    told = {"OSName": "Linux", "Architecture": architecture}
    for name, source in _SYSTEM.items():
        told[name] = printable(read_value(machine.root / source) or "")
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{name}: {told[name]}\n" for name in told))
