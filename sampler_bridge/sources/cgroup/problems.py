"""Says which control groups are not watched, why, and how to fix it."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from core.linux.cgroups.groups import Mount
from core.linux.cgroups.roots import CgroupRoot, RootMatches

_MOST_LINES = 20
_FIXES = {
    errno.EACCES: "let the bridge's account read it",
    errno.EPERM: "let the bridge's account read it",
    errno.EMFILE: "raise the bridge's limit of open files (ulimit -n)",
    errno.ENFILE: "raise the system's limit of open files (fs.file-max)",
}


def problems_of(
    found: RootMatches, roots: Sequence[CgroupRoot], mounts: Sequence[Mount], most: int
) -> tuple[str, ...]:
    """One line for each problem, at most 20; up to ``most`` groups are watched."""
    below = ", ".join(mount.path for mount in mounts) or "a mount: there is none"
    problems = [
        f"cgroup root {root.text!r} is not below {below}; it is watched once it exists"
        for root in roots
        if root.is_plain and not _exists(root, mounts, found)
    ]
    if len(found.folders) > most:
        problems.append(f"more than {most} cgroups match: the others are not watched")
    problems += [f"cgroup folder {path!a} is not printable UTF-8" for path in found.odd]
    problems += [_unread(path, number) for path, number in found.unread.items()]
    return tuple(sorted(problems)[:_MOST_LINES])


def _unread(path: str, number: int) -> str:
    fix = _FIXES.get(number, "check the folder and the system's log")
    return (
        f"cgroup folder {path} cannot be read ({os.strerror(number)}), so the groups "
        f"below it count as running: {fix}"
    )


def _exists(root: CgroupRoot, mounts: Sequence[Mount], found: RootMatches) -> bool:
    folders = ["/".join((mount.path, *root.names)) for mount in mounts]
    return any(found.may_hide(one) or Path(one).is_dir() for one in folders)
