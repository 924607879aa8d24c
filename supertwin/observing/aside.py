"""Keeps SuperTwin's own processes off the CPUs that an observed command has."""

import os
from collections.abc import Iterator, Set
from contextlib import suppress
from pathlib import Path

from supertwin.stack.state import StackState, read_state

# What it starts is the command itself, with CPUs of its own.
_ALONE = "api"


def step_aside(home: Path, pinned: Set[int]) -> None:
    """Let the stack of a state folder work on all other CPUs; on all if none is left.

    What is not ours to move stays where it is.
    """
    state = read_state(home)
    if state is None or not state.cpus:
        return
    allowed = set(state.cpus) - pinned or set(state.cpus)
    for pid in set(_pids(state)):
        for task in _tasks(pid):
            with suppress(OSError):
                os.sched_setaffinity(task, allowed)


def _pids(state: StackState) -> Iterator[int]:
    yield state.pid
    children = _children()
    for name, child in state.children.items():
        if child.pid is not None:
            yield child.pid
            if name != _ALONE:
                yield from _below(child.pid, children)


def _below(pid: int, children: dict[int, list[int]]) -> Iterator[int]:
    for child in children.get(pid, ()):
        yield child
        yield from _below(child, children)


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    # No Path for each of hundreds: whoever begins a run waits for this.
    for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
            parent = stat.read().rpartition(b") ")[2].split()[1]
            found.setdefault(int(parent), []).append(int(name))
    return found


def _tasks(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    return []
