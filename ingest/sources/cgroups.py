"""The layout of control groups: the mounted hierarchies and their mount points.

Only delegated groups are listed. All others come and go and are looked up on demand.
See the kernel's Documentation/admin-guide/cgroup-v2.rst, "Delegation", and
systemd.resource-control(5).
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
    """Read the mounted hierarchies and their layout; raises ProbeSourceError."""
    found = parse_mounts(read_text(machine.root / _MOUNTS))
    if not found:
        raise SourceMissingError(
            "no cgroup hierarchy is mounted: mount one with `mount -t cgroup2 none "
            "/sys/fs/cgroup`"
        )
    for hierarchy in found:
        folder = machine.root / hierarchy["path"].lstrip("/")
        if hierarchy["version"] == 2:
            hierarchy["controllers"] = _words(folder / "cgroup.controllers")
            hierarchy["enabled"] = _words(folder / "cgroup.subtree_control")
        hierarchy["delegated"] = _delegated(folder)
    return {"layout": layout(found), "hierarchies": found}


def layout(hierarchies: list[Hierarchy]) -> str:
    """``v1``, ``v2``, or ``hybrid`` if controllers are on v1 and v2 is also mounted."""
    versions = {hierarchy["version"] for hierarchy in hierarchies}
    return "hybrid" if len(versions) > 1 else f"v{versions.pop()}"


def _words(path: Path) -> list[str]:
    return sorted((read_value(path) or "").split())


def _delegated(root: Path) -> list[str]:
    """Groups delegated to users other than root, as paths below the hierarchy.

    systemd marks them; without a mark, the owner decides. Groups below a delegated one
    are not searched. At most 2,000 folders are visited, 5 levels deep.
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
