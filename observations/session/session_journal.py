"""Keeps the open sessions on disk so that the next process can resume them."""

import json
import logging
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core.linux.private_folder import make_private
from observations.record import RunRequest, RunSpec
from sampling.events.passes import CountingPass

_LOG = logging.getLogger(__name__)

_FOLDER = "observing"
_FAILED, _SET_ASIDE = ".failed", ".set-aside"


def add_open_request(home: Path, id_: str, run_request: RunRequest) -> None:
    """Store a request before anything is done for it."""
    path = _path(home, id_)
    make_private(path.parent)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(_to_json(run_request)) + "\n")
    new.replace(path)


def remove_open_request(home: Path, id_: str) -> None:
    """Remove a session that has released everything and whose runs are recorded."""
    _path(home, id_).unlink(missing_ok=True)
    _path(home, id_).with_suffix(_FAILED).unlink(missing_ok=True)


def set_aside_path(home: Path, id_: str) -> Path:
    """Return the file of a session that was set aside; it need not exist."""
    return _path(home, id_).with_suffix(_SET_ASIDE)


def note_failure(home: Path, id_: str) -> None:
    """Note a failed resumption: the next process tries again, but none after it."""
    path = _path(home, id_)
    failed, set_aside_file = path.with_suffix(_FAILED), set_aside_path(home, id_)
    if not failed.exists():
        failed.touch()
        return
    path.replace(set_aside_file)
    failed.unlink()
    _LOG.error(
        "it failed twice and is set aside: %s; rename it to try again", set_aside_file
    )


def open_requests(home: Path) -> Iterator[tuple[str, RunRequest]]:
    """Yield the requests that a previous process left, with their ids."""
    for path in sorted((home / _FOLDER).glob("*.json")):
        try:
            found = json.loads(path.read_text("utf-8"))
            asked = found.pop("asked")
            passes = (map(tuple, one) for one in asked.pop("passes", ()))
            spec = RunSpec(
                **_as_given(asked), passes=tuple(CountingPass(*p) for p in passes)
            )
            yield path.stem, RunRequest(spec, **_as_given(found))
        except (OSError, ValueError, TypeError, KeyError):  # written by another version
            continue


def _path(home: Path, id_: str) -> Path:
    return home / _FOLDER / f"{id_}.json"


def _to_json(run_request: RunRequest) -> dict[str, Any]:
    """The fields, with the specification under its key in the file: "asked"."""
    found = asdict(run_request)
    return {"asked": found.pop("spec"), **found}


def _as_given(values: dict[str, Any]) -> dict[str, Any]:
    """Turn lists from JSON back into tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
