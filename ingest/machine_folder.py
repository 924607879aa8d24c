"""Find the files about machines in a folder: kind and host of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ingest.errors import ProbeDocumentError
from ingest.host_name import check_host
from ingest.machine_files import hwloc_file, original_file, probe_file
from ingest.original.probe_file import MARKS
from ingest.probe import FORMAT
from ingest.remote.bundle import host_in
from ingest.remote.collect import FIRST
from ingest.remote.probe import probe_copy
from ingest.schema.check import check_document
from ingest.schema.schema import ProbeDocument
from ingest.sources.files import read_file

COPY = ".collected"
_SUFFIXES = (".json", ".xml", COPY)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class MachineFile:
    """A file about one machine; ``kind`` is probe, original, hwloc or collected."""

    path: Path
    kind: str
    host: str

    def document(self) -> ProbeDocument:
        """The probe document in the file; raises IngestError."""
        if self.kind == "hwloc":
            return hwloc_file(self.path, self.host)
        if self.kind == "collected":
            return check_document(probe_copy(self.path, self.host))
        return (probe_file if self.kind == "probe" else original_file)(
            self.path, self.host
        )


def files_in(folder: Path) -> list[Path]:
    """The files of a folder by name, without hidden ones; raises ProbeDocumentError."""
    try:
        found = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    except OSError as error:
        raise ProbeDocumentError(
            f"{folder} cannot be read ({error.strerror}): give a readable folder of "
            "machine files"
        ) from None
    files = [path for path in found if not path.is_dir()]
    if not files:
        raise ProbeDocumentError(
            f"{folder} contains no files: give a folder of machine files"
        )
    return files


def recognise(path: Path) -> MachineFile | None:
    """Recognise a file by its content; None if it is not about a machine.

    The host is the one named in the file, else the file's name without its suffix.
    Raises IngestError for a file that has a matching suffix but other content.
    """
    with path.open("rb") if path.is_file() else _no_file(path) as file:
        start = file.read(4096)
    if FIRST.encode() + b"\0" in start or path.suffix == COPY:
        return _file(path, "collected", host_in(path))
    text = start.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if path.suffix == ".xml" or (text.startswith(b"<") and b"<topology" in text):
        return _file(path, "hwloc", "")
    kind, host = _json(path) if text.startswith((b"{", b"[")) else ("", "")
    if kind:
        return _file(path, kind, host)
    if path.suffix in _SUFFIXES:
        raise ProbeDocumentError(
            f"{path} does not describe a machine: give hwloc's XML, or JSON that "
            "`supertwin probe --out` or the original SuperTwin wrote"
        )
    return None


def duplicate_reasons(files: Sequence[MachineFile]) -> dict[Path, str]:
    """Explain for each file why it is refused if another file has the same host."""
    by_host: dict[str, list[Path]] = {}
    for file in files:
        by_host.setdefault(file.host, []).append(file.path)
    return {
        path: (
            f"{path} and {_other(path, paths).name} both describe {host}: keep one of "
            "them"
        )
        for host, paths in by_host.items()
        for path in paths
        if len(paths) > 1
    }


def _other(path: Path, paths: list[Path]) -> Path:
    return next(other for other in paths if other != path)


def _file(path: Path, kind: str, host: str) -> MachineFile:
    return MachineFile(path, kind, check_host(host or path.stem))


def _no_file(path: Path) -> Any:
    raise ProbeDocumentError(f"{path} is not a regular file: remove it from the folder")


def _json(path: Path) -> tuple[str, str]:
    """The kind of a JSON file, and the host that it names; empty where unknown."""
    try:
        content = orjson.loads(read_file(path))
    except ValueError as error:
        raise ProbeDocumentError(
            f"{path} is not valid JSON ({error}): create or copy it again"
        ) from None
    if not isinstance(content, dict):
        return "", ""
    if content.get("format") == FORMAT:
        return "probe", str(content.get("host") or "")
    if all(mark in content for mark in MARKS):
        return "original", str(content.get("hostname") or "")
    return "", ""
