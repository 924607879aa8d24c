"""Changes of added queries: each is atomic, and the earlier texts stay readable.

The folder holds the queries as ``<group>/<name>.rq``, which may be edited by hand, and
each version as ``.versions/<group>/<name>/<number>.rq``.
"""

import hashlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.linux.files import write_whole
from core.linux.lock import turn
from core.linux.private_folder import make_private
from queries.added import MOST_BYTES, QueryCatalogue, check_name, is_name
from queries.catalogue import query_names
from queries.errors import (
    ConditionNeededError,
    QueryChangedError,
    TooManyQueriesError,
    UnknownQueryError,
    UnknownVersionError,
)

# In the folder; the API looks at all of them for each page of a dashboard.
MOST_QUERIES: Final = 1000
# Of one query; older ones are removed.
MOST_VERSIONS: Final = 100
ANY: Final = "*"
_FOLDER: Final = ".versions"


@dataclass(frozen=True)
class QueryVersion:
    """A version of a query; ``time`` is when it was stored, in Unix seconds."""

    number: int
    tag: str
    time: float
    path: Path


@dataclass(frozen=True)
class Condition:
    """The state that a change expects: the tags of If-Match and If-None-Match.

    None: the request does not say. ``*`` among the tags means any text.
    """

    match: Collection[str] | None = None
    none_match: Collection[str] | None = None

    def check(self, name: str, tag: str) -> None:
        """Raise QueryChangedError unless the tag ('': no query) is expected."""
        is_expected = self.match is None or _is_among(tag, self.match)
        if not is_expected or (self.none_match and _is_among(tag, self.none_match)):
            state = f"has the ETag {tag}" if tag else "does not exist"
            raise QueryChangedError(
                f"{name} {state}: read it again, and repeat the change on top"
            )


class QueryVersions:
    """Adds, replaces and removes the queries of a folder; one change at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._catalogue = QueryCatalogue(folder)

    def put(
        self, name: str, text: str, condition: Condition
    ) -> tuple[QueryVersion, bool]:
        """Store a checked text; return its version, and whether the query is new.

        A text that the query already has gets no new version. Raises QueryNameError,
        BuiltInQueryError, QueryChangedError, ConditionNeededError and
        TooManyQueriesError; OSError if it cannot be written, and then nothing changed.
        """
        check_name(name)
        with self._turn():
            old = self._text(name)
            self._check(name, old, condition)
            self._keep_edited(name, old)
            store = self._keep if old == text else self._replace
            version = store(name, text)
            self._remove_old(name)
            return version, old is None

    def delete(self, name: str, condition: Condition) -> None:
        """Remove a query; its versions stay. Raises UnknownQueryError and as `put`."""
        check_name(name)
        with self._turn():
            old = self._text(name)
            if old is None:
                raise UnknownQueryError(f"no saved query {name!r} was added")
            condition.check(name, tag(old))
            self._keep_edited(name, old)
            path = self._path(name)
            path.unlink()
            with suppress(OSError):  # it has other queries
                path.parent.rmdir()

    def versions(self, name: str) -> list[QueryVersion]:
        """The versions of a query, oldest first, also of a removed one.

        Raises UnknownQueryError.
        """
        if name in query_names():
            raise UnknownVersionError(f"{name} is built in, so it has no versions")
        found = self._versions(name) if is_name(name) else []
        if not found and name not in self._catalogue.names():
            raise UnknownQueryError(f"no saved query {name[:140]!r} was ever added")
        return found

    def version(self, name: str, number: int) -> str:
        """The text of a version; raises UnknownVersionError and as `versions`."""
        path = self._version_path(name, number)
        if is_name(name) and path.is_file():
            return path.read_bytes().decode()
        kept = self.versions(name)
        has = f"{kept[0].number} to {kept[-1].number}" if kept else "none yet"
        raise UnknownVersionError(f"{name} has no version {number}; it has {has}")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        make_private(self._folder)
        with turn(self._folder, lambda: None, "queries"):
            yield

    def _check(self, name: str, old: str | None, condition: Condition) -> None:
        condition.check(name, "" if old is None else tag(old))
        if old is not None and condition.match is None:
            raise ConditionNeededError(
                f"{name} exists: to replace it, send its ETag, or *, as If-Match"
            )
        if old is None and self._is_full():
            raise TooManyQueriesError(
                f"{self._folder} holds {MOST_QUERIES} queries: remove one first"
            )

    def _is_full(self) -> bool:
        return len(self._catalogue.names()) - len(query_names()) >= MOST_QUERIES

    def _replace(self, name: str, text: str) -> QueryVersion:
        """Write a text and its version; if one fails, neither stays."""
        known = self._versions(name)
        version = self._keep(name, text)
        path = self._path(name)
        try:
            make_private(path.parent)
            write_whole(path, text)
        except OSError:
            # The text of a removed query may be an earlier version already.
            if version not in known:
                version.path.unlink()
            raise
        return version

    def _keep_edited(self, name: str, text: str | None) -> None:
        """Keep a text that was written into the folder by hand."""
        if text is not None and len(text.encode()) <= MOST_BYTES:
            self._keep(name, text)

    def _keep(self, name: str, text: str) -> QueryVersion:
        """Store a text as the newest version, unless it is that already."""
        kept = self._versions(name)
        if kept and kept[-1].tag == tag(text):
            return kept[-1]
        number = kept[-1].number + 1 if kept else 1
        path = self._version_path(name, number)
        make_private(path.parent)
        write_whole(path, text)
        return _version(path)

    def _remove_old(self, name: str) -> None:
        for version in self._versions(name)[:-MOST_VERSIONS]:
            version.path.unlink()

    def _versions(self, name: str) -> list[QueryVersion]:
        paths = (self._folder / _FOLDER / name).glob("*.rq")
        numbered = (path for path in paths if path.stem.isdecimal())
        return [_version(path) for path in sorted(numbered, key=_number)]

    def _text(self, name: str) -> str | None:
        path = self._path(name)
        # Reading a pipe would wait for a writer.
        return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.rq"

    def _version_path(self, name: str, number: int) -> Path:
        return self._folder / _FOLDER / name / f"{number}.rq"


def tag(text: str) -> str:
    """The ETag of a query's text."""
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def _is_among(found: str, tags: Collection[str]) -> bool:
    return bool(found) and (ANY in tags or found in tags)


def _version(path: Path) -> QueryVersion:
    text = path.read_bytes().decode()
    return QueryVersion(_number(path), tag(text), path.stat().st_mtime, path)


def _number(path: Path) -> int:
    return int(path.stem)
