"""The CPUs of observed commands: runs reserve them, SuperTwin's processes avoid them.

Two runs on one CPU would distort each other's measurements.
"""

import os
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from pathlib import Path
from threading import Lock

from core.settings.state import StackState, read_state
from observations.command_streams import HELD
from observations.launch import RunnerEvent, is_alive

# Agents of all local PMCDs may have been started by an agent of another PMCD, so they
# are found by their pipes.
_PMCDS = ("pmcd", "pmu")
_ATTENDED_COMMAND = "observe"

_Named = dict[str, frozenset[int]]


class Cpus:
    """The CPUs of all hosts that runs hold or queue for, in the order of requests.

    Methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        # An empty set of CPUs means all CPUs of the host.
        self._held: dict[str, _Named] = {}
        self._queues: dict[str, _Named] = {}

    def take(
        self, host: str, cpus: Iterable[int], owner: str, *, queues: bool = False
    ) -> str:
        """Reserve CPUs for ``owner``; no CPUs means all of the host.

        Nothing is reserved if another run holds one of them, or has queued for one
        earlier. The return value names that run and the CPU; it is empty on success.
        With ``queues``, the run keeps a place in the queue until it calls this again
        with success, or calls `release`.
        """
        wanted = frozenset(cpus)
        with self._lock:
            held = self._held.setdefault(host, {})
            queue = self._queues.setdefault(host, {})
            reason = _taken_by(host, wanted, held) or _queued_behind(
                host, wanted, queue, owner
            )
            if not reason:
                queue.pop(owner, None)
                held[owner] = wanted
            elif queues:
                queue.setdefault(owner, wanted)
        return reason

    def keep(self, host: str, cpus: Iterable[int], owner: str) -> None:
        """Reserve CPUs for a run that already uses them, even if others hold them."""
        with self._lock:
            self._held.setdefault(host, {})[owner] = frozenset(cpus)

    def shared(self, host: str, owner: str) -> str:
        """Name another run that holds one of ``owner``'s CPUs; empty if none does."""
        with self._lock:
            held = dict(self._held.get(host, {}))
            wanted = held.pop(owner, None)
        return "" if wanted is None else _taken_by(host, wanted, held)

    def release(self, host: str, owner: str) -> bool:
        """Release the CPUs and the place in the queue; True if any CPUs were held."""
        with self._lock:
            self._queues.get(host, {}).pop(owner, None)
            return self._held.get(host, {}).pop(owner, None) is not None

    def pinned(self, host: str) -> frozenset[int]:
        """Return all CPUs that runs reserved by number."""
        with self._lock:
            return frozenset().union(*self._held.get(host, {}).values())


def _taken_by(host: str, wanted: frozenset[int], held: _Named) -> str:
    for other, theirs in held.items():
        if (cpu := _first_shared(wanted, theirs)) is not None:
            return f"observation {other} has CPU {cpu} of {host}"
    return ""


def _queued_behind(host: str, wanted: frozenset[int], queue: _Named, owner: str) -> str:
    for other, theirs in queue.items():
        if other == owner:
            break
        if (cpu := _first_shared(wanted, theirs)) is not None:
            return f"observation {other} came first and waits for CPU {cpu} of {host}"
    return ""


def _first_shared(one: frozenset[int], other: frozenset[int]) -> int | None:
    """Return the first CPU in both sets; None if there is none."""
    if not one or not other:
        return min(one or other, default=0)
    return min(one & other, default=None)


class CpuShield:
    """Moves SuperTwin's processes off the CPUs of commands, unless that leaves none.

    It moves the stack of a state folder, the runners of commands, and clients that
    attend their own command (`supertwin observe`). It moves no other processes. Methods
    may be called from any thread.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = Lock()
        self._pinned: Set[int] | None = None
        # The original affinity of processes outside the stack.
        self._permitted: dict[int, set[int]] = {}

    def update(self, pinned: Set[int], commands: Iterable[RunnerEvent]) -> None:
        """Move the processes off the ``pinned`` CPUs.

        ``commands`` has the first event of each running command.
        """
        with self._lock:
            others = {pid for one in commands for pid in _runner_and_attendant(one)}
            known = self._permitted.keys() if pinned == self._pinned else set()
            self._permitted = {
                pid: self._permitted.get(pid) or _affinity(pid) for pid in others
            }
            for pid in others - known:
                _move(pid, self._permitted[pid], pinned)
            if pinned != self._pinned:
                _move_stack(self._home, pinned)
                self._pinned = pinned


def _move_stack(home: Path, pinned: Set[int]) -> None:
    state = read_state(home)
    if state is not None:
        for pid in set(_pids(state)):
            _move(pid, set(state.cpus), pinned)


def _move(pid: int, permitted: set[int], pinned: Set[int]) -> None:
    allowed = permitted - pinned or permitted
    for task in _numbers(f"{pid}/task") if allowed else ():
        with suppress(OSError):
            os.sched_setaffinity(task, allowed)


def _pids(state: StackState) -> Iterator[int]:
    yield state.pid
    children = _children()
    pids = {name: child.pid for name, child in state.children.items() if child.pid}
    yield from pids.values()
    yield from _agents([pids[name] for name in _PMCDS if name in pids])
    for name, pid in pids.items():
        if name in _PMCDS:
            yield from children.get(pid, ())
        else:
            yield from _below(pid, children)


def _agents(pmcds: Iterable[int]) -> Iterator[int]:
    """Yield the agents of these PMCDs: processes that read from a pipe of theirs."""
    pipes = {_pipe(pid, number) for pid in pmcds for number in _numbers(f"{pid}/fd")}
    for pid in _numbers(""):
        if (pipe := _pipe(pid, 0)) and pipe in pipes:
            yield pid


def _pipe(pid: int, number: int) -> str:
    """Return the pipe behind a descriptor of a process; empty if there is none."""
    with suppress(OSError):
        found = os.readlink(f"/proc/{pid}/fd/{number}")  # noqa: PTH115
        return found if found.startswith("pipe:") else ""
    return ""


def _numbers(folder: str) -> list[int]:
    """List the numeric names in a folder of /proc."""
    # No Path for hundreds of entries: the start of a run waits for this.
    with suppress(OSError):
        return [int(name) for name in os.listdir(f"/proc/{folder}") if name.isdecimal()]  # noqa: PTH208
    return []


def _below(pid: int, children: dict[int, list[int]]) -> Iterator[int]:
    """Yield the descendants, except the commands that runners among them run."""
    for child in children.get(pid, ()):
        yield child
        if not _is_runner(child):
            yield from _below(child, children)


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for pid in _numbers(""):
        found.setdefault(_parent(pid), []).append(pid)
    return found


def _runner_and_attendant(command: RunnerEvent) -> Iterator[int]:
    """Yield the runner of a command on this machine, and the client attending it."""
    if not is_alive(command):
        return
    runner = _parent(command["pid"])
    if _is_runner(runner):
        yield runner
        attendant = _parent(runner)
        if _ATTENDED_COMMAND in _words(attendant):
            yield attendant


def _is_runner(pid: int) -> bool:
    return HELD in _words(pid)[-2:]  # INPUT may follow HELD


def _parent(pid: int) -> int:
    """Return the parent of a process; 0, which is not a valid pid, if there is none."""
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123
        return int(stat.read().rpartition(b") ")[2].split()[1])
    return 0


def _words(pid: int) -> list[str]:
    with suppress(OSError):
        text = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        return text.rstrip("\0").split("\0")
    return []


def _affinity(pid: int) -> set[int]:
    with suppress(OSError):
        return os.sched_getaffinity(pid)
    return set()
