"""Read a process of this machine from /proc on demand; nothing is stored.

The files are described in proc(5). Data that only the owner may read is left out.
"""

import os
import pwd
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ingest.errors import MalformedSourceError, ProbeSourceError, SourceMissingError
from ingest.sources.files import parse_cpulist, read_file, read_value
from ontology.numbers import read_whole

MAX_TASKS = 4096
_MAX_COMMAND = 4096
_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "waiting in the kernel",
    "T": "stopped",
    "t": "stopped by a tracer",
    "Z": "ended, not yet reaped",
    "I": "idle in the kernel",
}
_POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline"}
# Positions in /proc/PID/stat, counted after the name, which may contain spaces.
_STATE, _PARENT, _NICE, _START, _LAST_CPU, _POLICY = 0, 1, 16, 19, 36, 38
_IDENTITY = re.compile(r"([0-9]{1,10})\.([0-9]{1,20})\.([0-9a-f-]{36})")
_ON_DOMAIN = re.compile(r"\bN([0-9]{1,5})=([0-9]{1,18})\b")
_PAGE_KIB = re.compile(r"\bkernelpagesize_kB=([0-9]{1,9})\b")
_KIB = 1024


@dataclass(frozen=True)
class Identity:
    """The identity of a process: the pid alone is reused."""

    pid: int
    start: int
    boot: str

    def __str__(self) -> str:
        return f"{self.pid}.{self.start}.{self.boot}"


@dataclass(frozen=True)
class ProcessThread:
    """One thread of a process; ``cpus`` are the CPUs that it may run on."""

    tid: int
    name: str
    state: str
    last_cpu: int
    cpus: list[int]


@dataclass(frozen=True)
class ProcessFacts:
    """The kernel's data on a process; sizes in bytes, None if unknown.

    ``placement`` is its memory by NUMA domain, None if the kernel has none or denies
    access.
    """

    identity: Identity
    name: str
    state: str
    policy: str
    nice: int
    started: datetime
    command: str | None
    executable: str | None
    user: str | None
    parent: Identity | None
    cgroup: str | None
    resident: int | None
    cpus: list[int]
    domains: list[int]
    placement: dict[int, int] | None
    tasks: list[ProcessThread] = field(default_factory=list)
    task_count: int = 0


def parse_identity(text: str) -> Identity | None:
    """Parse the text form of an Identity; None for anything else."""
    found = _IDENTITY.fullmatch(text)
    return Identity(int(found[1]), int(found[2]), found[3]) if found else None


def read_process(pid: int, root: Path = Path("/")) -> ProcessFacts | None:
    """Read a process by its pid; None if it does not exist. Raises ProbeSourceError.

    A thread id is not accepted, although /proc/TID exists without being listed.
    """
    proc = root / "proc"
    boot = _boot(proc)
    first = _stat(proc / str(pid))
    if first is None or _status(proc / str(pid)).get("Tgid", str(pid)) != str(pid):
        return None
    process = _process(proc, pid, first, boot)
    last = _stat(proc / str(pid))
    # Another process may have got the pid in the meantime.
    same = last is not None and last[1][_START] == first[1][_START]
    return process if same else None


def identify(pid: int, root: Path = Path("/")) -> tuple[Identity, str] | None:
    """The process with a pid and its name; None without one. Raises
    ProbeSourceError.
    """
    stat = _stat(root / "proc" / str(pid))
    if stat is None:
        return None
    return Identity(pid, int(stat[1][_START]), _boot(root / "proc")), stat[0]


def find_processes(root: Path = Path("/")) -> Iterator[tuple[Identity, str]]:
    """Yield every process with the kernel's name of it; raises ProbeSourceError."""
    proc = root / "proc"
    boot = _boot(proc)
    for entry in os.scandir(proc):
        if entry.name.isdecimal() and (stat := _stat(proc / entry.name)):
            name, fields = stat
            identity = Identity(int(entry.name), int(fields[_START]), boot)
            yield identity, name


def command_of(pid: int, root: Path = Path("/")) -> str | None:
    """The command line of a process, its words separated by spaces."""
    words = read_value(root / "proc" / str(pid) / "cmdline")
    return " ".join(words.split("\0"))[:_MAX_COMMAND] if words else None


def parse_stat(text: str) -> tuple[str, list[str]]:
    """The name in a ``stat`` file and the fields after it.

    Raises MalformedSourceError.
    """
    head, _, rest = text.rpartition(")")
    fields = rest.split()
    if len(fields) <= _POLICY or "(" not in head:
        raise MalformedSourceError(
            "/proc/PID/stat has an unexpected format: check that proc is mounted at "
            "/proc"
        )
    return head.partition("(")[2], fields


def parse_numa_maps(text: str) -> dict[int, int]:
    """Bytes by NUMA domain, from the text of a ``numa_maps`` file."""
    found: dict[int, int] = {}
    for line in text.splitlines():
        page = _PAGE_KIB.search(line)
        for domain, pages in _ON_DOMAIN.findall(line) if page else ():
            held = int(pages) * int(page[1]) * _KIB if page else 0
            found[int(domain)] = found.get(int(domain), 0) + held
    return found


def _process(
    proc: Path, pid: int, stat: tuple[str, list[str]], boot: str
) -> ProcessFacts | None:
    folder, (name, fields) = proc / str(pid), stat
    status = _status(folder)
    tasks = sorted(_numbers(folder / "task"))
    start = int(fields[_START])
    return ProcessFacts(
        identity=Identity(pid, start, boot),
        name=name,
        state=_STATES.get(fields[_STATE], fields[_STATE]),
        policy=_POLICIES.get(int(fields[_POLICY]), fields[_POLICY]),
        nice=int(fields[_NICE]),
        started=_started(proc, start),
        command=command_of(pid, proc.parent),
        executable=_link(folder / "exe"),
        user=_user(status.get("Uid")),
        parent=_parent(proc, int(fields[_PARENT]), boot),
        cgroup=_cgroup(read_value(folder / "cgroup")),
        resident=_kib(status.get("VmRSS")),
        cpus=parse_cpulist(status.get("Cpus_allowed_list", "")),
        domains=parse_cpulist(status.get("Mems_allowed_list", "")),
        placement=_placement(folder / "numa_maps"),
        tasks=[task for tid in tasks[:MAX_TASKS] if (task := _task(folder, tid))],
        task_count=len(tasks),
    )


def _task(folder: Path, tid: int) -> ProcessThread | None:
    stat = _stat(folder / "task" / str(tid))
    if stat is None:
        return None
    name, fields = stat
    return ProcessThread(
        tid=tid,
        name=name,
        state=_STATES.get(fields[_STATE], fields[_STATE]),
        last_cpu=int(fields[_LAST_CPU]),
        cpus=parse_cpulist(
            _status(folder / "task" / str(tid)).get("Cpus_allowed_list", "")
        ),
    )


def _boot(proc: Path) -> str:
    boot = read_value(proc / "sys/kernel/random/boot_id")
    if boot is None:
        raise SourceMissingError(f"{proc} has no boot id: mount proc at /proc")
    return boot


def _stat(folder: Path) -> tuple[str, list[str]] | None:
    text = read_value(folder / "stat")
    return None if text is None else parse_stat(text)


def _status(folder: Path) -> dict[str, str]:
    pairs = (
        line.partition(":")
        for line in (read_value(folder / "status") or "").split("\n")
    )
    return {key: value.strip() for key, _, value in pairs}


def _numbers(folder: Path) -> list[int]:
    try:
        return [int(path.name) for path in folder.iterdir() if path.name.isdecimal()]
    except OSError:
        return []


def _started(proc: Path, ticks: int) -> datetime:
    booted = re.search(r"^btime ([0-9]+)$", (proc / "stat").read_text(), re.MULTILINE)
    if booted is None:
        raise MalformedSourceError(
            "/proc/stat has no btime: check that proc is mounted at /proc"
        )
    seconds = int(booted[1]) + ticks / os.sysconf("SC_CLK_TCK")
    return datetime.fromtimestamp(seconds, UTC)


def _parent(proc: Path, pid: int, boot: str) -> Identity | None:
    stat = _stat(proc / str(pid)) if pid else None
    return Identity(pid, int(stat[1][_START]), boot) if stat else None


def _user(uids: str | None) -> str | None:
    if not uids:
        return None
    number = read_whole(uids.split()[0])
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _kib(text: str | None) -> int | None:
    return read_whole(text.split()[0]) * _KIB if text else None


def _cgroup(text: str | None) -> str | None:
    """The path in the unified hierarchy, else in the first of version 1."""
    lines = [line.split(":", 2) for line in (text or "").splitlines()]
    paths = {parts[0]: parts[2] for parts in lines if len(parts) == 3}
    return paths.get("0") or next(iter(paths.values()), None)


def _placement(path: Path) -> dict[int, int] | None:
    """The memory by NUMA domain; also None if a huge process's file is too large."""
    try:
        return parse_numa_maps(read_file(path).decode(errors="replace"))
    except ProbeSourceError:
        return None


def _link(path: Path) -> str | None:
    try:
        return str(path.readlink())
    except OSError:
        return None
