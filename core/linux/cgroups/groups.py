"""A control group: its folders in the hierarchies and its limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from core.linux.cgroups.files import read_file
from core.linux.cgroups.mounts import Hierarchy

UNIFIED = "v2"
# Controllers of version 1 with data that we read.
_TELLING = {
    *("cpu", "cpuacct", "memory", "cpuset", "pids", "blkio", "freezer"),
    *("hugetlb", "rdma", "perf_event"),
}
_NO_LIMIT = 1 << 62  # version 1 writes the largest whole number of pages


@dataclass(frozen=True)
class Mount:
    """A mounted hierarchy: ``keys`` are its controllers in version 1, else ``v2``."""

    path: str
    version: int
    keys: tuple[str, ...]


def telling_mounts(
    hierarchies: Sequence[Hierarchy], root: Path = Path("/")
) -> list[Mount]:
    """Return the mounts to search for groups, version 1 first."""
    found = [_mount(one, root) for one in hierarchies]
    return sorted((m for m in found if m.keys), key=lambda mount: mount.version)


def _mount(hierarchy: Hierarchy, root: Path) -> Mount:
    path, version = str(root / hierarchy["path"].lstrip("/")), hierarchy["version"]
    own = tuple(sorted({*hierarchy["controllers"]} & _TELLING))
    return Mount(path, version, own if version == 1 else (UNIFIED,))


@dataclass(frozen=True)
class Cgroup:
    """A control group: its path below the mounts, in one or more hierarchies.

    ``folders`` maps each controller of version 1, and ``v2`` for version 2, to the
    group's folder. ``numbers`` maps each mount to the folder's inode number: a new
    folder at the same path has a different number.
    """

    path: str
    folders: Mapping[str, str]
    numbers: Mapping[str, int]
    versions: tuple[int, ...]

    def file(self, key: str, name: str) -> str | None:
        """Return the path of a controller's file; None without a folder there."""
        folder = self.folders.get(key)
        return None if folder is None else f"{folder}/{name}"


def make_group(
    path: str, numbers: Mapping[str, int], mounts: Sequence[Mount]
) -> Cgroup:
    """Build a group from the folder numbers found per mount."""
    here = [mount for mount in mounts if mount.path in numbers]
    folders = {key: f"{m.path}{path}" for m in here for key in m.keys}
    versions = tuple(sorted({mount.version for mount in here}))
    return Cgroup(path, folders, dict(numbers), versions)


@dataclass(frozen=True)
class CgroupLimits:
    """The limits of a group: CPU numbers, memory (bytes), CPU time (CPUs), tasks.

    A field is None if nothing limits it or the limit is unknown.
    """

    controllers: tuple[str, ...] = ()
    cpus: tuple[int, ...] | None = None
    memory: int | None = None
    cpu_share: float | None = None
    tasks: int | None = None


def read_allowed(group: Cgroup) -> CgroupLimits:
    """Read a group's current limits; if the group has gone, none are known."""
    own = {key for key in group.folders if key != UNIFIED}
    own |= {*_read(group, (UNIFIED, "cgroup.controllers")).split()}
    cpus = _read(group, ("cpuset", "cpuset.cpus"), (UNIFIED, "cpuset.cpus.effective"))
    memory = _number(
        _read(group, ("memory", "memory.limit_in_bytes"), (UNIFIED, "memory.max"))
    )
    return CgroupLimits(
        tuple(sorted(own)),
        parse_cpus(cpus),
        None if memory is None or memory >= _NO_LIMIT else memory,
        _share(group),
        _number(_read(group, ("pids", "pids.max"), (UNIFIED, "pids.max"))),
    )


def parse_cpus(text: str) -> tuple[int, ...] | None:
    """Parse CPU numbers from a list such as ``0-3,8``; None if empty or malformed."""
    found: set[int] = set()
    for part in text.strip().split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            return None
        if int(last or first) > 65_535:
            return None
        found.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


def parent_of(path: str, paths: Mapping[str, object]) -> str | None:
    """Return the nearest ancestor of a group among ``paths``."""
    above = (str(folder) for folder in PurePath(path).parents)
    return next((one for one in above if one in paths), None)


def _share(group: Cgroup) -> float | None:
    """Return the maximum CPU time that the group may use, in CPUs."""
    unified = _read(group, (UNIFIED, "cpu.max")).split()
    quota, period = unified if len(unified) == 2 else ("", "")
    if "cpu" in group.folders:
        quota = _read(group, ("cpu", "cpu.cfs_quota_us")).strip()
        period = _read(group, ("cpu", "cpu.cfs_period_us")).strip()
    whole, of = _number(quota), _number(period)
    return None if whole is None or not of else whole / of


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() else None


def _read(group: Cgroup, *places: tuple[str, str]) -> str:
    """Return the text of the first of these files that exists and is not empty."""
    for key, name in places:
        path = group.file(key, name)
        try:
            text = read_file(path) if path else ""
        except OSError:
            continue
        if text.strip():
            return text
    return ""
