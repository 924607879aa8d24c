"""The built-in queries together with those that a folder adds, without a restart."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Final

from queries.catalogue import (
    SavedQuery,
    load_catalogue,
    parse_query,
    query_names,
    saved_query,
)
from queries.errors import (
    BuiltInQueryError,
    CatalogueError,
    QueryNameError,
    UnknownQueryError,
)

# Of the folder; each file may have so many bytes.
MOST_QUERIES: Final = 1000
MOST_BYTES: Final = 32 * 1024
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,30}/[a-z][a-z0-9-]{0,30}")
_SUFFIX: Final = ".rq"


# Mode, time of change, size and inode of a file: another content differs in one.
_State = tuple[int, int, int, int]


class QueryCatalogue:
    """The built-in queries and those of a folder, ``<group>/<name>.rq``, by name.

    Every call looks at the files again; only changed ones are read. A file that cannot
    be loaded is not a query, but a problem. Methods may be called from any thread.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = Lock()
        self._files: dict[str, _State] | None = None
        self._loaded: dict[str, tuple[_State, SavedQuery | str]] = {}
        self._all: Mapping[str, SavedQuery] = {}

    def all(self) -> Mapping[str, SavedQuery]:
        """All queries, sorted by name; the same object until a file changes."""
        with self._lock:
            return self._read()

    def names(self) -> list[str]:
        """The names of all queries; does not read the files."""
        return sorted({*query_names(), *filter(is_name, _files(self.folder))})

    def find(self, name: str) -> SavedQuery:
        """One query; raises UnknownQueryError, or CatalogueError if it is wrong."""
        if name in query_names():
            return saved_query(name)
        with self._lock:
            state = _files(self.folder).get(name)
            found = self._load(name, state) if state else None
        if isinstance(found, str):
            raise CatalogueError(f"{self.folder / name}{_SUFFIX}: {found}")
        if found is None:
            raise UnknownQueryError(f"no saved query {name[:80]!r}")
        return found

    def problems(self) -> dict[str, str]:
        """Why a file is not a query, by its name without suffix."""
        with self._lock:
            self._read()
            found = {name: result for name, (_, result) in self._loaded.items()}
        return {name: text for name, text in found.items() if isinstance(text, str)}

    def _read(self) -> Mapping[str, SavedQuery]:
        files = _files(self.folder)
        if files != self._files:
            results = {name: self._load(name, state) for name, state in files.items()}
            self._loaded = {name: self._loaded[name] for name in files}
            added = {
                n: one for n, one in results.items() if isinstance(one, SavedQuery)
            }
            self._all = dict(sorted({**added, **load_catalogue()}.items()))
            self._files = files
        return self._all

    def _load(self, name: str, state: _State) -> SavedQuery | str:
        """The query of a file, or the reason why it is not one."""
        known, result = self._loaded.get(name, (None, ""))
        if known != state:
            try:
                result = self._query(name, state)
            except (CatalogueError, QueryNameError, BuiltInQueryError) as error:
                result = str(error)
            self._loaded[name] = state, result
        return result

    def _query(self, name: str, state: _State) -> SavedQuery:
        mode, _, size, _ = state
        check_name(name)
        if not stat.S_ISREG(mode):
            raise CatalogueError("is not a file: remove it")
        if size > MOST_BYTES:
            raise CatalogueError(f"is longer than {MOST_BYTES} bytes: shorten it")
        try:
            path = self.folder / f"{name}{_SUFFIX}"
            return added_query(name, path.read_text("utf-8"))
        except UnicodeDecodeError:
            raise CatalogueError("is not UTF-8: save it as UTF-8") from None
        except OSError as error:
            raise CatalogueError(f"cannot be read: {error.strerror}") from None


def is_name(name: str) -> bool:
    """Whether an added query can have this name."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Raise QueryNameError, or BuiltInQueryError for the name of a built-in query."""
    if not is_name(name):
        raise QueryNameError(
            f"{name[:140]!r} is not a name for a query: use group/name of a-z, 0-9 and "
            "-, each up to 31 characters"
        )
    if name in query_names():
        raise BuiltInQueryError(
            f"{name} is a built-in query, which stays as it is: take another name"
        )


def added_query(name: str, text: str) -> SavedQuery:
    """An added query from its text; raises CatalogueError."""
    return replace(parse_query(name, text), added=True)


def _files(folder: Path) -> dict[str, _State]:
    """The files of queries by name, sorted; no more than MOST_QUERIES."""
    found = {}
    for group in _entries(folder):
        if group.name.startswith(".") or not group.is_dir():
            continue
        for entry in _entries(group.path):
            if entry.name.endswith(_SUFFIX):
                with suppress(OSError):  # it was removed, or is a link to nothing
                    at = entry.stat()
                    name = f"{group.name}/{entry.name.removesuffix(_SUFFIX)}"
                    found[name] = at.st_mode, at.st_mtime_ns, at.st_size, at.st_ino
    return dict(sorted(found.items())[:MOST_QUERIES])


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from entries
