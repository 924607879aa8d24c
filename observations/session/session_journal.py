"""Keeps the open sessions on disk so that the next process can resume them."""

import json
import logging
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core.linux.private_folder import make_private
from observations.record import Asked
from observations.session.run_request import Wish

_LOG = logging.getLogger(__name__)

_FOLDER = "observing"
_FAILED, _ASIDE = ".failed", ".set-aside"


def keep_open(home: Path, id_: str, wish: Wish) -> None:
    """Store a wish before anything is done for it."""
    path = _path(home, id_)
    make_private(path.parent)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(asdict(wish)) + "\n")
    new.replace(path)


def forget_open(home: Path, id_: str) -> None:
    """Remove a session that holds nothing and whose runs are recorded."""
    _path(home, id_).unlink(missing_ok=True)
    _path(home, id_).with_suffix(_FAILED).unlink(missing_ok=True)


def set_aside(home: Path, id_: str) -> Path:
    """Return the file of a session that was set aside; it need not exist."""
    return _path(home, id_).with_suffix(_ASIDE)


def note_failure(home: Path, id_: str) -> None:
    """Note a failed resumption: the next process tries again, but none after it."""
    path = _path(home, id_)
    failed, aside = path.with_suffix(_FAILED), set_aside(home, id_)
    if not failed.exists():
        failed.touch()
        return
    path.replace(aside)
    failed.unlink()
    _LOG.error("it failed twice and is set aside: %s; rename it to try again", aside)


def left_open(home: Path) -> Iterator[tuple[str, Wish]]:
    """Yield the wishes that a previous process left, with their ids."""
    for path in sorted((home / _FOLDER).glob("*.json")):
        try:
            found = json.loads(path.read_text("utf-8"))
            asked = Asked(**_as_given(found.pop("asked")))
            yield path.stem, Wish(asked, **_as_given(found))
        except (OSError, ValueError, TypeError, KeyError):  # written by another version
            continue


def _path(home: Path, id_: str) -> Path:
    return home / _FOLDER / f"{id_}.json"


def _as_given(values: dict[str, Any]) -> dict[str, Any]:
    """Turn lists from JSON back into tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
