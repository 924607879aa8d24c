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

# Of each file.
MOST_BYTES: Final = 32 * 1024
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,30}/[a-z][a-z0-9-]{0,30}")
_SUFFIX: Final = ".rq"

# Mode, time of change, size and inode of a file: another content differs in one. The
# time is ctime, because programs such as `cp -p` set mtime to an earlier one.
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
        self._problems: Mapping[str, str] = {}

    def all(self) -> Mapping[str, SavedQuery]:
        """All queries, sorted by name; the same object until a file changes."""
        with self._lock:
            self._read()
            return self._all

    def problems(self) -> Mapping[str, str]:
        """Why a file is not a query, by its name without suffix."""
        with self._lock:
            self._read()
            return self._problems

    def names(self) -> list[str]:
        """The names of all queries; does not read the files."""
        return sorted({*query_names(), *filter(is_name, _files(self.folder))})

    def find(self, name: str) -> SavedQuery:
        """One query; raises UnknownQueryError, or CatalogueError if it is wrong."""
        if name in query_names():
            return saved_query(name)
        state = _state(self._path(name)) if is_name(name) else None
        if state is None:
            raise UnknownQueryError(f"no saved query {name[:80]!r}")
        with self._lock:
            found = self._load(name, state)
        if isinstance(found, str):
            raise CatalogueError(f"{name} cannot be loaded: {found}")
        return found

    def _read(self) -> None:
        files = _files(self.folder)
        if files == self._files:
            return
        found = {name: self._load(name, state) for name, state in files.items()}
        self._loaded = {name: self._loaded[name] for name in files}
        added = {n: one for n, one in found.items() if isinstance(one, SavedQuery)}
        self._all = dict(sorted({**added, **load_catalogue()}.items()))
        self._problems = {n: one for n, one in found.items() if isinstance(one, str)}
        self._files = files

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
            # Not as text, which would change line ends and so the ETag.
            return added_query(name, self._path(name).read_bytes().decode())
        except UnicodeDecodeError:
            raise CatalogueError("is not UTF-8: save it as UTF-8") from None
        except OSError as error:
            raise CatalogueError(f"cannot be read: {error.strerror}") from None

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{_SUFFIX}"


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
    """The files of queries by name, sorted."""
    found = {}
    for group in _entries(folder):
        if group.name.startswith(".") or not group.is_dir():
            continue
        for entry in _entries(group.path):
            if entry.name.endswith(_SUFFIX) and (state := _state(entry)):
                found[f"{group.name}/{entry.name.removesuffix(_SUFFIX)}"] = state
    return dict(sorted(found.items()))


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _state(file: Path | os.DirEntry[str]) -> _State | None:
    """The state of a file; None if it was removed, or is a link to nothing."""
    try:
        at = file.stat()
    except OSError:
        return None
    return at.st_mode, at.st_ctime_ns, at.st_size, at.st_ino
