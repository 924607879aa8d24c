"""The layout of control groups: which hierarchies are mounted where.

Of the groups themselves only the delegated ones are named; all others come and go and
are looked up when they are asked for. See the kernel's
Documentation/admin-guide/cgroup-v2.rst, "Delegation", and systemd.resource-control(5).
"""

import os
from pathlib import Path
from typing import Any

from core.linux.cgroups.mounts import Hierarchy, parse_mounts
from ingest.errors import SourceMissingError
from ingest.sources.files import read_text, read_value
from ingest.sources.machine import HERE, Machine

_MOUNTS = Path("proc/self/mountinfo")
_DELEGATED = ("user.delegate", "trusted.delegate")
_DEEPEST = 5
_MOST_FOLDERS = 2000


def read_cgroups(machine: Machine = HERE) -> dict[str, Any]:
    """The mounted hierarchies, and which version they make; raises SourceError."""
    found = parse_mounts(read_text(machine.root / _MOUNTS))
    if not found:
        raise SourceMissingError(
            "no cgroup hierarchy is mounted: mount -t cgroup2 none /sys/fs/cgroup"
        )
    for hierarchy in found:
        folder = machine.root / hierarchy["path"].lstrip("/")
        if hierarchy["version"] == 2:
            hierarchy["controllers"] = _words(folder / "cgroup.controllers")
            hierarchy["enabled"] = _words(folder / "cgroup.subtree_control")
        hierarchy["delegated"] = _delegated(folder)
    return {"layout": layout(found), "hierarchies": found}


def layout(hierarchies: list[Hierarchy]) -> str:
    """``v1``, ``v2``, or ``hybrid`` where controllers are on v1 and v2 is there too."""
    versions = {hierarchy["version"] for hierarchy in hierarchies}
    return "hybrid" if len(versions) > 1 else f"v{versions.pop()}"


def _words(path: Path) -> list[str]:
    return sorted((read_value(path) or "").split())


def _delegated(root: Path) -> list[str]:
    """Groups that are handed to others than root, as paths below the hierarchy.

    systemd marks them; else one tells them by their owner. What is below a delegated
    group is its owner's affair. At most 2,000 folders are looked at, 5 deep.
    """
    found: list[str] = []
    looked = 0
    folders = [root]
    while folders and looked < _MOST_FOLDERS:
        folder = folders.pop()
        looked += 1
        for child in _children(folder):
            path = child.relative_to(root)
            if _is_delegated(child, folder):
                found.append(f"/{path}")
            elif len(path.parts) < _DEEPEST:
                folders.append(child)
    return sorted(found)


def _children(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(e) for e in entries if e.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _is_delegated(child: Path, parent: Path) -> bool:
    try:
        if any(_attribute(child, name) == b"1" for name in _DELEGATED):
            return True
        return child.stat().st_uid not in (0, parent.stat().st_uid)
    except OSError:
        return False


def _attribute(path: Path, name: str) -> bytes | None:
    try:
        return os.getxattr(path, name)
    except OSError:
        return None
