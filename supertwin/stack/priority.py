"""Priorities of the PMCDs that the supervisor starts, and of running processes."""

import shutil
from collections.abc import Mapping
from contextlib import suppress

from core.linux.priority import (
    FETCHING,
    NICE,
    NICE_LEVEL,
    NORMAL,
    REALTIME,
    attainable,
    priority_of,
)
from core.settings.state import StackState

_SAMPLING = ("bridge", "pmcd", "pmu")
_RAISED = {
    REALTIME: ("chrt", "--fifo", str(FETCHING)),
    NICE: ("nice", "-n", str(NICE_LEVEL)),
    NORMAL: (),
}


def raised(command: tuple[str, ...], wanted: str) -> tuple[str, ...]:
    """Prefix a command so that it and its children run at this priority.

    The priority is limited by our rights. A PMCD's agents are its children.
    """
    words = _RAISED[attainable(wanted)]
    return (*words, *command) if words and shutil.which(words[0]) else command


def priorities(state: StackState) -> Mapping[str, str]:
    """The kernel's priority of each process of the stack that samples."""
    found = {}
    for name in _SAMPLING:
        child = state.children.get(name)
        if child and child.pid:
            with suppress(OSError):
                found[name] = priority_of(child.pid)
    return found
