"""A run as a Process Run Crate: a folder that others open without us.

https://www.researchobject.org/ro-crate/1.1/ and
https://w3id.org/ro/wfrun/process/0.5 say what is in it: `ro-crate-metadata.json` tells
of the run as an action, its program, and the files beside it.
"""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from observations.errors import CrateError

METADATA = "ro-crate-metadata.json"
_CONTEXT = "https://w3id.org/ro/crate/1.1/context"
_SPECIFICATION = "https://w3id.org/ro/crate/1.1"
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_COMPLETED = "completed"
_TYPES = {
    ".ttl": "text/turtle",
    ".csv": "text/csv",
    ".py": "text/x-python",
    ".jsonl": "application/jsonl",
    ".txt": "text/plain",
}
_MOST_BYTES = 1 << 30
_PROPERTY = "https://w3id.org/supertwin/ns#"


@dataclass(frozen=True)
class Told:
    """What the metadata tell of a run; times are ISO 8601, ``node`` is its IRI."""

    node: str
    base: str
    command: str
    host: str
    started: str
    ended: str
    outcome: str
    program: str = ""
    digest: str = ""
    made: datetime = field(default_factory=lambda: datetime.now(UTC))


def write_crate(folder: Path, told: Told, files: Mapping[str, bytes]) -> None:
    """Write a crate as a new folder, or as a zip where its name ends so; whole or not.

    Raises CrateError for what is there already.
    """
    if folder.exists():
        raise CrateError(f"{folder} is there already: name another")
    if not folder.absolute().parent.is_dir():
        raise CrateError(f"{folder}: give a place in a folder that exists")
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent) as partial:
        inside = Path(partial) / "crate"
        inside.mkdir()
        for name, content in files.items():
            (inside / name).write_bytes(content)
        document = json.dumps(metadata(told, files), indent=1, ensure_ascii=False)
        (inside / METADATA).write_text(document + "\n", "utf-8")
        if folder.suffix == ".zip":
            made = shutil.make_archive(str(Path(partial) / "zipped"), "zip", inside)
            Path(made).replace(folder)
        else:
            inside.replace(folder)


def metadata(told: Told, files: Mapping[str, bytes]) -> dict[str, Any]:
    """The document that tells what a crate holds."""
    entities = [_descriptor(), _root(told, files), _profile(), _action(told, files)]
    entities += [_program(told), _host(told), *map(_file, files.items())]
    return {
        "@context": [_CONTEXT, {"supertwinBase": f"{_PROPERTY}base"}],
        "@graph": entities,
    }


def read_crate(path: Path) -> dict[str, bytes]:
    """The files of a crate, folder or zip, by their names; raises CrateError."""
    try:
        files = _unzipped(path) if path.is_file() else _read(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise CrateError(f"{path} cannot be read: {error}") from None
    if METADATA not in files:
        raise CrateError(f"{path} is no RO-Crate: it has no {METADATA}")
    return files


def base_of(files: Mapping[str, bytes]) -> str:
    """What the IRIs of a crate's run begin with; raises CrateError."""
    try:
        entities = json.loads(files[METADATA])["@graph"]
        (found,) = {str(e["supertwinBase"]) for e in entities if "supertwinBase" in e}
    except (ValueError, KeyError, TypeError):
        raise CrateError(f"the {METADATA} is of no run that SuperTwin wrote") from None
    return found


def _read(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.iterdir() if path.is_file()]
    _check_size(sum(path.stat().st_size for path in files))
    return {path.name: path.read_bytes() for path in files}


def _unzipped(path: Path) -> dict[str, bytes]:
    """Names are only looked at, never written to."""
    with zipfile.ZipFile(path) as archive:
        members = [one for one in archive.infolist() if not one.is_dir()]
        _check_size(sum(one.file_size for one in members))
        return {one.filename: archive.read(one) for one in members}


def _check_size(size: int) -> None:
    if size > _MOST_BYTES:
        raise CrateError(f"it holds {size} bytes: at most {_MOST_BYTES} are read")


def _descriptor() -> dict[str, Any]:
    return {
        "@id": METADATA,
        "@type": "CreativeWork",
        "conformsTo": {"@id": _SPECIFICATION},
        "about": {"@id": "./"},
    }


def _root(told: Told, files: Mapping[str, bytes]) -> dict[str, Any]:
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Run of {told.command[:100]}",
        "description": f"One run of a command on {told.host}, and what was measured "
        "meanwhile, as SuperTwin recorded it.",
        "datePublished": told.made.isoformat(timespec="seconds"),
        "conformsTo": {"@id": _PROFILE},
        "hasPart": [{"@id": name} for name in files],
        "mentions": {"@id": told.node},
        "supertwinBase": told.base,
    }


def _profile() -> dict[str, Any]:
    return {
        "@id": _PROFILE,
        "@type": "CreativeWork",
        "name": "Process Run Crate",
        "version": "0.5",
    }


def _action(told: Told, files: Mapping[str, bytes]) -> dict[str, Any]:
    completed = told.outcome == _COMPLETED
    status = "Completed" if completed else "Failed"
    action = {
        "@id": told.node,
        "@type": "CreateAction",
        "name": f"Run of {told.command[:100]}",
        "description": told.command,
        "startTime": told.started,
        "endTime": told.ended,
        "instrument": {"@id": "#program"},
        "location": {"@id": "#host"},
        "result": [{"@id": name} for name in files],
        "actionStatus": {"@id": f"http://schema.org/{status}ActionStatus"},
    }
    return action if completed else {**action, "error": told.outcome}


def _program(told: Told) -> dict[str, Any]:
    name = told.program or told.command.split(" ", 1)[0]
    digest = {"identifier": f"sha256:{told.digest}"} if told.digest else {}
    return {"@id": "#program", "@type": "SoftwareApplication", "name": name, **digest}


def _host(told: Told) -> dict[str, Any]:
    return {"@id": "#host", "@type": "Place", "name": told.host}


def _file(item: tuple[str, bytes]) -> dict[str, Any]:
    name, content = item
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        "contentSize": str(len(content)),
        "encodingFormat": _TYPES.get(Path(name).suffix, "application/octet-stream"),
    }
