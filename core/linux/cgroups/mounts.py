"""The mounted cgroup hierarchies, see proc(5)."""

import re
from pathlib import Path
from typing import TypedDict

_MOUNTS = Path("proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")
# Options of a v1 mount that are not controllers.
_OPTIONS = re.compile(r"rw|ro|xattr|clone_children|noprefix|release_agent=.*|name=.*")

# The device, and the folder of it that is mounted.
Folders = tuple[str, str]


class Hierarchy(TypedDict):
    """A mounted hierarchy, as a probe writes it; only ``ingest`` finds the last two."""

    path: str
    version: int
    name: str | None
    controllers: list[str]
    enabled: list[str]
    delegated: list[str]


def read_mounts(root: Path = Path("/")) -> list[Hierarchy]:
    """Return the mounted hierarchies; raises OSError."""
    return parse_mounts((root / _MOUNTS).read_text(errors="surrogateescape"))


def parse_mounts(text: str) -> list[Hierarchy]:
    """Return the cgroup mounts in the text of a mountinfo file (proc(5)).

    If the same folder is mounted more than once, as in chroots, keep the mount with the
    shortest path.
    """
    found: dict[str, tuple[Folders, Hierarchy]] = {}
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if not dash or len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] in ("cgroup", "cgroup2"):
            path = _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), fields[4])
            hierarchy = _hierarchy(path, kind[0], kind[2].split(","))
            found[path] = (fields[2], fields[3]), hierarchy
    once: dict[Folders, str] = {}
    for path, (folders, _) in found.items():
        once[folders] = min(once.get(folders, path), path, key=len)
    return [found[path][1] for path in once.values()]


def _hierarchy(path: str, kind: str, options: list[str]) -> Hierarchy:
    version = 2 if kind == "cgroup2" else 1
    named = [o.removeprefix("name=") for o in options if o.startswith("name=")]
    return {
        "path": path,
        "version": version,
        "name": named[0] if named else None,
        "controllers": []
        if version == 2
        else sorted(option for option in options if not _OPTIONS.fullmatch(option)),
        "enabled": [],
        "delegated": [],
    }
