"""A run as a Process Run Crate: a folder that other tools can open.

https://www.researchobject.org/ro-crate/1.1/ and https://w3id.org/ro/wfrun/process/0.5
define its contents: `ro-crate-metadata.json` describes the run as an action, its
program, and the other files.
"""

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from observations.errors import CrateError

METADATA = "ro-crate-metadata.json"
_CONTEXT = "https://w3id.org/ro/crate/1.1/context"
_SPECIFICATION = "https://w3id.org/ro/crate/1.1"
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_RUN_TERMS = "https://w3id.org/ro/terms/workflow-run#"
_COMPLETED = "completed"
_TYPES = {
    ".ttl": "text/turtle",
    ".csv": "text/csv",
    ".json": "application/json",
    ".py": "text/x-python",
    ".jsonl": "application/jsonl",
    ".txt": "text/plain",
}
# Inputs of the run; all other files are results.
_SCRIPTS = {"run.py", "request.json"}
_HOST, _ARGUMENTS = "#host", "#arguments"
_PROPERTY = "https://w3id.org/supertwin/ns#"


@dataclass(frozen=True)
class RunMetadata:
    """What the metadata say about a run; times are ISO 8601, ``node`` is its IRI.

    ``argv`` is a JSON array of strings, ``environment`` lists variables as NAME=value,
    ``user`` is the login that it ran as, ``asked_by`` lists who asked for it, by IRI
    and name, and ``license`` is an IRI.
    """

    node: str
    base: str
    command: str
    host: str
    started: str
    ended: str
    outcome: str
    argv: str = ""
    program: str = ""
    digest: str = ""
    build: str = ""
    user: str = ""
    asked_by: Sequence[tuple[str, str]] = ()
    environment: Sequence[str] = ()
    license: str = ""
    made: datetime = field(default_factory=lambda: datetime.now(UTC))


def write_crate(folder: Path, run: RunMetadata, files: Mapping[str, bytes]) -> None:
    """Write a crate as a new folder, or as a zip if its name ends in .zip.

    The crate is complete or absent. Raises CrateError if the place cannot be used.
    """
    check_new(folder)
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent) as partial:
        inside = Path(partial) / "crate"
        fill(inside, run, files)
        put(inside, folder)


def metadata(run: RunMetadata, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the metadata document of a crate."""
    given = [_argument(run), *map(_variable, run.environment)]
    return {
        "@context": [
            _CONTEXT,
            {
                "supertwinBase": f"{_PROPERTY}base",
                "environment": f"{_RUN_TERMS}environment",
            },
        ],
        "@graph": [
            *(_descriptor(), _root(run, files), _profile(), _license(run)),
            _action(run, files),
            *(_program(run), _host(run), *_agents(run), *given),
            *map(_file, files.items()),
        ],
    }


def base_of(content: bytes) -> str:
    """Read from a crate's metadata the prefix of its run's IRIs; raises CrateError."""
    try:
        entities = orjson.loads(content)["@graph"]
        (found,) = {e["supertwinBase"] for e in entities if "supertwinBase" in e}
    except (ValueError, KeyError, TypeError):
        raise CrateError(
            f"the {METADATA} is not of a run of SuperTwin: name another crate"
        ) from None
    return str(found)


def check_new(folder: Path) -> None:
    """Raise CrateError for a place where nothing new can be written."""
    if folder.exists():
        raise CrateError(f"{folder} is there already: name another")
    if not folder.absolute().parent.is_dir():
        raise CrateError(f"{folder}: give a place in a folder that exists")


def fill(inside: Path, run: RunMetadata, files: Mapping[str, bytes]) -> None:
    """Write a crate into a folder, which is created."""
    inside.mkdir()
    for name, content in files.items():
        check_name(name)
        (inside / name).write_bytes(content)
    document = json.dumps(metadata(run, files), indent=1, ensure_ascii=False)
    (inside / METADATA).write_text(document + "\n", "utf-8")


def put(inside: Path, folder: Path) -> None:
    """Move a complete crate to its place."""
    if folder.suffix == ".zip":
        name = str(inside.with_name("zipped"))
        Path(shutil.make_archive(name, "zip", inside)).replace(folder)
    else:
        inside.replace(folder)


def check_name(name: str) -> None:
    """Raise CrateError for a name that would lead out of the crate."""
    if name in ("", "..") or Path(name).name != name:
        raise CrateError(f"{name[:80]!r} cannot name a file of a crate")


def _descriptor() -> dict[str, Any]:
    return {
        "@id": METADATA,
        "@type": "CreativeWork",
        "conformsTo": {"@id": _SPECIFICATION},
        "about": {"@id": "./"},
    }


def _root(run: RunMetadata, files: Mapping[str, bytes]) -> dict[str, Any]:
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Run of {run.command[:100]}",
        "description": f"One run of a command on {run.host}, with the measurements "
        "that SuperTwin recorded during it.",
        "datePublished": run.made.isoformat(timespec="seconds"),
        "conformsTo": {"@id": _PROFILE},
        "author": _references(one["@id"] for one in _agents(run)),
        "license": {"@id": _license(run)["@id"]},
        "hasPart": _references(files),
        "mentions": {"@id": run.node},
        "supertwinBase": run.base,
    }
    return {name: value for name, value in root.items() if value}


def _profile() -> dict[str, Any]:
    return {
        "@id": _PROFILE,
        "@type": "CreativeWork",
        "name": "Process Run Crate",
        "version": "0.5",
    }


def _license(run: RunMetadata) -> dict[str, Any]:
    """Return the license, which a crate must have and only its owner can name."""
    name = run.license or "No licence"
    about = "How this may be used"
    if not run.license:
        about = "None was given: ask its creator how it may be used"
    id_ = run.license or "#license"
    return {"@id": id_, "@type": "CreativeWork", "name": name, "description": about}


def _action(run: RunMetadata, files: Mapping[str, bytes]) -> dict[str, Any]:
    completed = run.outcome == _COMPLETED
    status = "Completed" if completed else "Failed"
    action = {
        "@id": run.node,
        "@type": "CreateAction",
        "name": f"Run of {run.command[:100]}",
        "description": run.command,
        "startTime": _time(run.started),
        "endTime": _time(run.ended),
        "instrument": {"@id": _program_id(run)},
        "location": {"@id": _HOST},
        "object": _references([_ARGUMENTS, *sorted(_SCRIPTS & files.keys())]),
        "result": _references(sorted(files.keys() - _SCRIPTS)),
        "actionStatus": f"http://schema.org/{status}ActionStatus",
        "agent": _references(one["@id"] for one in _agents(run)),
        "environment": _references(_variable(v)["@id"] for v in run.environment),
    }
    found = {name: value for name, value in action.items() if value}
    return found if completed else {**found, "error": run.outcome}


def _references(ids: Iterable[str]) -> Any:
    """Format references as RO-Crate requires: one alone, several as a list."""
    found = [{"@id": id_} for id_ in ids]
    return found[0] if len(found) == 1 else found


def _time(text: str) -> str:
    """Round to milliseconds, as readers of the profile expect."""
    return datetime.fromisoformat(text).isoformat(timespec="milliseconds")


def _argument(run: RunMetadata) -> dict[str, Any]:
    words = {"name": "argument vector", "value": run.argv or run.command}
    return {"@id": _ARGUMENTS, "@type": "PropertyValue", **words}


def _variable(pair: str) -> dict[str, Any]:
    name, _, value = pair.partition("=")
    id_ = f"#environment-{quote(name)}"
    return {"@id": id_, "@type": "PropertyValue", "name": name, "value": value}


def _agents(run: RunMetadata) -> list[dict[str, Any]]:
    """Return the login of the command and the users who requested it, if known."""
    login = (f"#user-{quote(run.user)}", run.user, "The login that it ran as")
    logins = [login] if run.user else []
    requesters = [(*one, "Requested the run from SuperTwin") for one in run.asked_by]
    return [
        {"@id": id_, "@type": "Person", "name": name, "description": about}
        for id_, name, about in (*logins, *requesters)
    ]


def _program_id(run: RunMetadata) -> str:
    return f"{run.node}/program"


def _program(run: RunMetadata) -> dict[str, Any]:
    """Describe the program; its version tells it from others of the same name."""
    path = run.program
    known = {
        "url": f"file://{quote(run.host)}{quote(path)}" if path else "",
        "softwareVersion": run.build or run.digest,
        "identifier": f"sha256:{run.digest}" if run.digest else "",
    }
    return {
        "@id": _program_id(run),
        "@type": "SoftwareApplication",
        "name": path or run.command.split(" ", 1)[0],
        **{name: value for name, value in known.items() if value},
    }


def _host(run: RunMetadata) -> dict[str, Any]:
    return {"@id": _HOST, "@type": "Place", "name": run.host}


def _file(item: tuple[str, bytes]) -> dict[str, Any]:
    name, content = item
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        "contentSize": str(len(content)),
        "encodingFormat": _TYPES.get(Path(name).suffix, "application/octet-stream"),
    }
