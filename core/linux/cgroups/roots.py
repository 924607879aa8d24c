"""Patterns for cgroup folders below the mounts, and the search for matching folders."""

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import lru_cache
from pathlib import PurePath

from core.linux.cgroups.errors import CgroupError

# Slurm with cgroups of version 1 and 2, also with several slurmd on a machine; OAR.
DEFAULT_ROOTS = (
    "slurm*/uid_*/job_*",
    "slurm*/uid_*/job_*/step_*",
    "system.slice/*slurmstepd.scope/job_*",
    "system.slice/*slurmstepd.scope/job_*/step_*",
    "oar/*",
)
_WILD = re.compile(r"[*?\[]")
_DEEPEST = 16
# Errors that mean the folder does not exist. Any other error, such as running out of
# descriptors or memory, says nothing about the folder's contents.
GONE = {errno.ENOENT, errno.ENOTDIR, errno.ENODEV}
# Upper limit on matching folders: a scan stops there to bound its cost.
MOST_FOUND = 20_000


@dataclass(frozen=True)
class CgroupRoot:
    """A pattern below every mount: ``a/*/c``; ``a/**`` is everything below ``a``."""

    text: str
    names: tuple[str, ...]
    below: bool

    @property
    def is_plain(self) -> bool:
        """Whether the pattern names one folder, so the user expects it to exist."""
        return not any(_WILD.search(name) for name in self.names)


def parse_roots(text: str) -> tuple[CgroupRoot, ...]:
    """Parse a comma-separated list of patterns; an empty list watches nothing.

    A pattern without ``*``, ``?`` and ``[`` matches everything below its folder. Raises
    CgroupError.
    """
    return tuple(_root(part.strip()) for part in text.split(",") if part.strip())


def _root(text: str) -> CgroupRoot:
    names = text.strip("/").split("/")
    below = names[-1] == "**"
    names = names[:-1] if below else names
    if not text.isprintable() or {"", ".", ".."} & {*names} or not names:
        raise CgroupError(
            f"{text[:80]!r} is not a cgroup root: write a folder below the mounts, "
            "such as slurm or system.slice/slurmstepd.scope/job_*"
        )
    if any("**" in name for name in names):
        raise CgroupError(f"cgroup root {text[:80]!r}: ** is allowed only at the end")
    plain = not any(_WILD.search(name) for name in names)
    return CgroupRoot(text, tuple(names), below or plain)


@dataclass
class RootMatches:
    """The folders found: path below the mount → mount → inode number (st_ino).

    ``odd`` are names that cannot be a series label. ``unread`` maps folders that could
    not be read to the error number. ``cut`` is true if the scan stopped at its limit.
    ``looked`` are the folders that were searched: a new folder in one of them may be a
    group or contain one. ``children`` are the subfolders of those that were listed,
    with their inode numbers.
    """

    folders: dict[str, dict[str, int]] = field(default_factory=dict)
    odd: set[str] = field(default_factory=set)
    unread: dict[str, int] = field(default_factory=dict)
    cut: bool = False
    looked: set[str] = field(default_factory=set)
    children: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether the search was complete: a folder not listed does not exist."""
        return not (self.unread or self.cut)

    def may_hide(self, folder: str) -> bool:
        """Whether a folder may exist although the search did not find it."""
        above = (folder, *map(str, PurePath(folder).parents))
        return self.cut or any(one in self.unread for one in above)

    def leave(self, folder: str, error: OSError) -> None:
        """Skip a folder and record the error, unless the folder no longer exists."""
        if error.errno not in GONE:
            self.unread[folder] = error.errno or 0


def find_groups(mounts: Sequence[str], roots: Sequence[CgroupRoot]) -> RootMatches:
    """Find every folder below the mounts that matches a root."""
    found = RootMatches()
    for mount in mounts:
        for root in roots:
            for path, number in _matching(mount, "", root.names, root.below, found):
                found.folders.setdefault(path, {})[mount] = number
                if len(found.folders) >= MOST_FOUND:
                    found.cut = True
                    return found
    return found


def _matching(
    mount: str, path: str, names: Sequence[str], below: bool, found: RootMatches
) -> Iterator[tuple[str, int]]:
    if not names:
        yield from _below(mount, path, found) if below else ()
        return
    last = len(names) == 1
    for name, number in _named(mount, path, names[0], found):
        inner = f"{path}/{name}"
        if last and not below:
            yield inner, number
        else:
            yield from _matching(mount, inner, names[1:], below, found)


def _below(mount: str, path: str, found: RootMatches) -> Iterator[tuple[str, int]]:
    for name, number in _children(mount, path, found):
        inner = f"{path}/{name}"
        yield inner, number
        if inner.count("/") < _DEEPEST:
            yield from _below(mount, inner, found)


def _named(
    mount: str, path: str, name: str, found: RootMatches
) -> Iterator[tuple[str, int]]:
    if fits := _pattern(name):
        yield from (one for one in _children(mount, path, found) if fits(one[0]))
        return
    folder = f"{mount}{path}/{name}"
    found.looked.add(f"{mount}{path}")
    try:
        number = os.stat(folder).st_ino  # noqa: PTH116
    except OSError as error:
        found.leave(folder, error)
        return
    yield name, number


@lru_cache(maxsize=256)
def _pattern(name: str) -> Callable[[str], object] | None:
    """Return what tests whether a name fits a pattern; None for a plain name."""
    return re.compile(translate(name)).match if _WILD.search(name) else None


def _children(mount: str, path: str, found: RootMatches) -> list[tuple[str, int]]:
    """Return the subfolders of a folder with their inode numbers, listed once."""
    folder = f"{mount}{path}"
    if folder not in found.children:
        found.looked.add(folder)
        found.children[folder] = _listed(folder, path, found)
    return found.children[folder]


def _listed(folder: str, path: str, found: RootMatches) -> list[tuple[str, int]]:
    try:
        with os.scandir(folder) as entries:
            folders = [e for e in entries if e.is_dir(follow_symlinks=False)]
    except OSError as error:
        found.leave(folder, error)
        return []
    found.odd.update(f"{path}/{e.name}" for e in folders if not e.name.isprintable())
    return [(e.name, e.inode()) for e in folders if e.name.isprintable()]
