"""Scheduling priority: real time if permitted, else a nice level, else normal.

On a busy machine a thread of normal priority may wait milliseconds to run. All threads
of the bridge are raised, since each of them may hold the GIL.
"""

import os
from contextlib import suppress
from threading import Thread

REALTIME, NICE, NORMAL = "realtime", "nice", "normal"
CHOICES = (REALTIME, NICE, NORMAL)

# The lowest real-time priorities: above normal programs, below other real-time ones.
# Threads that fetch run before threads that process what was fetched.
FETCHING, OTHERS = 2, 1
NICE_LEVEL = -10


def take(wanted: str, level: int = OTHERS, task: int = 0) -> str:
    """Give this thread a priority, as far as permitted, and return the one it got.

    Threads and programs that it starts begin with normal priority. ``task`` is another
    thread, or a program.
    """
    if wanted == REALTIME and _schedule(os.SCHED_FIFO, level, task):
        return REALTIME
    if wanted != NORMAL and _schedule(os.SCHED_OTHER, 0, task):
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, task, NICE_LEVEL)
            return NICE
    return NORMAL


def attainable(wanted: str) -> str:
    """Return the priority that this process could take."""
    got: list[str] = []
    thread = Thread(target=lambda: got.append(take(wanted)))
    thread.start()
    thread.join()
    return got[0]


def priority_of(task: int = 0) -> str:
    """Return the priority of a process or thread; 0 is this thread. Raises OSError."""
    if os.sched_getscheduler(task) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO:
        return REALTIME
    return NICE if os.getpriority(os.PRIO_PROCESS, task) < 0 else NORMAL


def _schedule(policy: int, level: int, task: int) -> bool:
    policy |= os.SCHED_RESET_ON_FORK
    try:
        os.sched_setscheduler(task, policy, os.sched_param(level))
    except OSError:
        return False
    return True
