"""The priority of the PMCDs that the supervisor starts, and of what runs."""

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
    """A command that starts with this priority, as do all that it starts.

    As far as rights allow; a PMCD's agents are started by it.
    """
    words = _RAISED[attainable(wanted)]
    return (*words, *command) if words and shutil.which(words[0]) else command


def priorities(state: StackState) -> Mapping[str, str]:
    """What the kernel says of each process of the stack that samples."""
    found = {}
    for name in _SAMPLING:
        child = state.children.get(name)
        if child and child.pid:
            with suppress(OSError):
                found[name] = priority_of(child.pid)
    return found
