"""The file of tokens: read completely or not at all, and private to its owner."""

import errno
import json
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from api.access.token_scope import is_scope
from core.errors import UserError
from core.settings.accounts import write_secret

_VERSION = 3
# Without scopes. Earlier releases refuse files of version 3.
_BEFORE_SCOPES = 2
_VERSIONS = (_BEFORE_SCOPES, _VERSION)
_MOST_BYTES = 1024 * 1024
_ID = re.compile(r"[0-9a-f]{12}")
NAME = re.compile(r"[A-Za-z0-9_.@~-]{1,64}")
_ROLE = re.compile(r"reader|operator|admin")
_HASH = re.compile(r"[0-9a-f]{64}")
_KEYS = {"id": _ID, "name": NAME, "role": _ROLE, "hash": _HASH}
_ALL_KEYS = {*_KEYS, "made", "expires", "scope"}
_LATEST = 253_402_300_799  # in the year 9999


class TokenFileError(UserError):
    """The token file cannot be read, or has other contents."""

    code = "tokens-unreadable"
    status = 503


def read_tokens(path: Path) -> list[dict[str, Any]]:
    """Return the checked entries of the file; none if there is no file.

    Raises TokenFileError: no entry of a damaged file is trusted.
    """
    text = _read(path)
    if text is None:
        return []
    entries = _entries(text)
    if entries is None:
        raise TokenFileError(
            f"{path} is damaged or was written by another version: put a copy back, or "
            "remove it and make new tokens (`supertwin token add`)"
        )
    return entries


def write_tokens(path: Path, entries: Sequence[dict[str, Any]]) -> None:
    """Replace the whole file."""
    document = {"version": _VERSION, "tokens": list(entries)}
    write_secret(path, json.dumps(document, indent=1) + "\n")


def _read(path: Path) -> bytes | None:
    try:
        # A pipe has no end, and a link may lead to a file that others can write.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
        with os.fdopen(os.open(path, flags), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            text = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TokenFileError(
            f"{path} cannot be read: {error.strerror}; make it readable for the user "
            "that SuperTwin runs as"
        ) from None
    if state.st_mode & 0o077:
        raise TokenFileError(f"{path} is open to others: `chmod 600 {path}`")
    return text


def _entries(text: bytes) -> list[dict[str, Any]] | None:
    """Parse the entries; None if anything is not as it was written."""
    try:
        document = json.loads(text)
        version, entries = document["version"], document["tokens"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if version not in _VERSIONS or not isinstance(entries, list):
        return None
    if version == _BEFORE_SCOPES:
        entries = list(map(_without_scope, entries))
    if not all(map(_is_entry, entries)):
        return None
    return entries if _is_distinct(entries) else None


def _without_scope(entry: Any) -> Any:
    return {"scope": {}, **entry} if isinstance(entry, dict) else entry


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.keys() != _ALL_KEYS:
        return False
    texts = all(
        isinstance(entry[key], str) and form.fullmatch(entry[key])
        for key, form in _KEYS.items()
    )
    expires = entry["expires"] is None or _is_time(entry["expires"])
    times = expires and _is_time(entry["made"])
    return texts and times and is_scope(entry["scope"])


def _is_time(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LATEST


def _is_distinct(entries: Sequence[dict[str, Any]]) -> bool:
    keys = ("id", "name")
    return all(len({e[key] for e in entries}) == len(entries) for key in keys)
