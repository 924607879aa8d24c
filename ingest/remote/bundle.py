"""Unpack the copy of a machine that ``ingest.remote.collect`` made.

The copy comes from an untrusted machine. Only files, folders and links are accepted,
each once, none outside the target folder and none through a link. Links are created
last, and each must stay inside.
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
from ingest.errors import BundleError, ProbeSourceError
from ingest.remote.collect import FIRST, LAST, MAX_OUTPUT, MAX_TOTAL
from ingest.remote.tar import TarEntry, read_entries
from ingest.sources.files import read_value
from ingest.sources.machine import Machine, ToolOutcome

# The fix for any fault of a file; a failed login has another one.
FIX = "collect the machine again"
_MOST = MAX_TOTAL + 2 * MAX_OUTPUT
_MOST_ENTRIES = 500_000
_MOST_BANNER = 1 << 20
_MEMORY = "/dev/shm"  # noqa: S108
_PREFIX = "supertwin-copy-"
_NEW_SECONDS = 60.0
_FOLDERS = {"root", "tools"}
# Errors caused only by the local disk or system.
_OURS = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EMFILE}
# What hwloc asks the running system instead of its files.
_SYSTEM = {
    "OSRelease": "proc/sys/kernel/osrelease",
    "HostName": "proc/sys/kernel/hostname",
}

Read = Callable[[int], bytes]


@dataclass(frozen=True)
class MachineCopy:
    """A machine's copy: if root made it, unreadable files, and why it is incomplete."""

    machine: Machine
    as_root: bool = False
    unread: list[str] = field(default_factory=list)
    cut: str = ""


@contextmanager
def unpacked(read: Read) -> Iterator[MachineCopy]:
    """Unpack the copy in a stream until the block ends; raises BundleError.

    ``read`` returns at most the given number of bytes, and none at the end. Data before
    the copy, such as the output of a login shell, is skipped.
    """
    parent = _parent_folder()
    _remove_abandoned(Path(parent))
    with (
        tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as folder,
        _lock_on(folder),
    ):
        yield unpack(read, Path(folder))


def host_in(path: Path) -> str:
    """The host name of the machine in a file; empty if it has none.

    Raises BundleError.
    """
    with path.open("rb") as file:
        try:
            for entry in read_entries(_Source(file.read1).exactly):
                if entry.name == f"root/{_SYSTEM['HostName']}":
                    return entry.content.decode(errors="replace").strip()
        except BundleError as error:
            raise BundleError(f"{path}: {error}: {FIX}") from None
    return ""


def _parent_folder() -> str:
    """The folder for copies, in memory if they fit: they have thousands of files."""
    usual = tempfile.gettempdir()
    try:
        disk = os.statvfs(_MEMORY)
    except OSError:
        return usual
    free = disk.f_bavail * disk.f_frsize
    enough = free > 2 * _MOST and os.access(_MEMORY, os.W_OK)
    return _MEMORY if enough and "TMPDIR" not in os.environ else usual


@contextmanager
def _lock_on(folder: str | Path) -> Iterator[bool]:
    """Lock a folder until the block or this process ends; False if it is locked."""
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


def _remove_abandoned(parent: Path) -> None:
    """Remove the copies of killed processes."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            about = folder.lstat()
            # A new folder is locked only a moment after its creation.
            old = time.time() - about.st_mtime > _NEW_SECONDS
            if about.st_uid == os.geteuid() and old:
                with _lock_on(folder) as is_abandoned:
                    if is_abandoned:
                        shutil.rmtree(folder)


def unpack(read: Read, folder: Path) -> MachineCopy:
    """Unpack the copy in a stream into an empty folder; raises BundleError."""
    source = _Source(read)
    for name in _FOLDERS:
        (folder / name).mkdir()
    try:
        texts = _unpack_entries(source, folder)
    except OSError as error:
        if error.errno in _OURS:
            raise
        raise BundleError(
            f"the copy contains a name that is invalid here ({error.strerror})"
        ) from None
    return _copied(folder, texts)


def _unpack_entries(source: "_Source", folder: Path) -> dict[str, dict[str, Any]]:
    """Write the files and links; return the first and the last entry by name."""
    links: list[tuple[Path, str]] = []
    texts: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(read_entries(source.exactly)):
        if number > _MOST_ENTRIES:
            raise BundleError(f"the copy contains more than {_MOST_ENTRIES} entries")
        if entry.name in (FIRST, LAST):
            texts[entry.name] = _json(entry)
        else:
            _unpack_entry(entry, folder, links)
        if entry.name == LAST:
            _create_links(links, folder / "root")
            return texts
    raise BundleError("the copy is truncated")


class _Source:
    """A stream, starting at the copy, with a size limit."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._left = _MOST
        self._held = self._begin()

    def exactly(self, size: int) -> bytes:
        """Read exactly this many bytes; raises BundleError if that is impossible."""
        self._left -= size
        if self._left < 0:
            raise BundleError(f"the copy is larger than {_MOST >> 20} MiB")
        while len(self._held) < size:
            piece = self._read(max(1 << 16, size - len(self._held)))
            if not piece:
                raise BundleError("the copy is truncated")
            self._held += piece
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken

    def _begin(self) -> bytearray:
        """Skip data before the copy: banners, and output of a shell's profile."""
        mark = FIRST.encode() + b"\0"
        held = bytearray()
        while (start := held.find(mark)) < 0:
            piece = self._read(1 << 16)
            if not piece or len(held) > _MOST_BANNER:
                text = printable(bytes(held[:2000]).decode(errors="replace"))
                what = f"it begins with {text[:80]!r}" if text else "it is empty"
                raise BundleError(f"this is not a copy of a machine ({what})")
            held += piece
        del held[:start]
        return held


def _unpack_entry(entry: TarEntry, folder: Path, links: list[tuple[Path, str]]) -> None:
    parts = entry.name.split("/")
    inside = parts[0] in _FOLDERS and len(parts) > 1
    if not inside or {"", ".", ".."} & set(parts) or "\0" in entry.name:
        raise BundleError(
            f"the copy contains an entry outside its folders: {printable(entry.name)!r}"
        )
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
            f"the copy contains an entry that is not a file: {printable(entry.name)!r}"
        )


def _create_links(links: list[tuple[Path, str]], root: Path) -> None:
    """Create the links, and check that none leads outside or loops."""
    for path, target in links:
        path.symlink_to(target)
    real = os.path.realpath(root)
    for path, target in links:
        end = os.path.realpath(path)
        out = target.startswith("/") or os.path.commonpath([real, end]) != real
        if out or _loops(path):
            shown = printable(str(path.relative_to(root)))
            raise BundleError(
                f"the copy contains a link that leads out of it: {shown!r}"
            )


def _loops(path: Path) -> bool:
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _json(entry: TarEntry) -> dict[str, Any]:
    try:
        found = json.loads(entry.content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BundleError(f"{entry.name} in the copy cannot be read")
    return found


def _copied(folder: Path, texts: dict[str, dict[str, Any]]) -> MachineCopy:
    last = texts[LAST]
    tools, unread = last.get("tools"), last.get("unread")
    machine = Machine(folder / "root", folder / "tools", _outcomes(tools))
    _write_hwloc_info(machine)
    return MachineCopy(
        machine,
        texts.get(FIRST, {}).get("root") is True,
        [printable(str(path)) for path in unread] if isinstance(unread, list) else [],
        printable(str(last.get("cut") or "")),
    )


def _outcomes(tools: Any) -> dict[str, ToolOutcome]:
    """The outcome of each tool; a malformed one counts as a tool that was not run."""
    found = tools.items() if isinstance(tools, dict) else ()
    return {
        name: ToolOutcome(
            printable(str(outcome["reason"])) if outcome["reason"] else "",
            outcome.get("missing") is True,
        )
        for name, outcome in found
        if isinstance(outcome, dict) and "reason" in outcome and "/" not in name
    }


def _write_hwloc_info(machine: Machine) -> None:
    """Write the file in which hwloc looks for what it would ask a live system.

    Its format is that of hwloc's HWLOC_DUMP_NOFILE_INFO. Without the architecture,
    hwloc cannot interpret the copied /proc/cpuinfo.
    """
    path = machine.root / "proc/hwloc-nofile-info"
    try:
        architecture = printable(machine.tool("architecture").decode(errors="replace"))
    except ProbeSourceError:
        return
    facts = {"OSName": "Linux", "Architecture": architecture}
    for name, source in _SYSTEM.items():
        facts[name] = printable(read_value(machine.root / source) or "")
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{name}: {facts[name]}\n" for name in facts))
