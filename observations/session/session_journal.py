"""Which wishes are being met, kept so that the next process can go on with them."""

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
    """Note a wish down before anything is done for it."""
    path = _path(home, id_)
    make_private(path.parent)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(asdict(wish)) + "\n")
    new.replace(path)


def forget_open(home: Path, id_: str) -> None:
    """Nothing is held for it any more, and its runs are recorded."""
    _path(home, id_).unlink(missing_ok=True)
    _path(home, id_).with_suffix(_FAILED).unlink(missing_ok=True)


def set_aside(home: Path, id_: str) -> Path:
    """The file of a session that was set aside, which need not exist."""
    return _path(home, id_).with_suffix(_ASIDE)


def note_failure(home: Path, id_: str) -> None:
    """It could not be gone on with: the next process tries again, but none after."""
    path = _path(home, id_)
    failed, aside = path.with_suffix(_FAILED), set_aside(home, id_)
    if not failed.exists():
        failed.touch()
        return
    path.replace(aside)
    failed.unlink()
    _LOG.error("it failed twice and is set aside: %s; rename it to try again", aside)


def left_open(home: Path) -> Iterator[tuple[str, Wish]]:
    """The wishes that a process before this one left, by their ids."""
    for path in sorted((home / _FOLDER).glob("*.json")):
        try:
            found = json.loads(path.read_text("utf-8"))
            asked = Asked(**_as_given(found.pop("asked")))
            yield path.stem, Wish(asked, **_as_given(found))
        except (OSError, ValueError, TypeError, KeyError):  # of another version
            continue


def _path(home: Path, id_: str) -> Path:
    return home / _FOLDER / f"{id_}.json"


def _as_given(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has lists where there were tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
