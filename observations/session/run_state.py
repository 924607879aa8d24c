"""The states of a requested run, and every transition between them.

docs/reference/observations.md explains both; a test compares its tables with these.
"""

import logging
import time
from collections.abc import Mapping, Set
from enum import StrEnum
from threading import Lock

_LOG = logging.getLogger(__name__)


class State(StrEnum):
    """The state of a request and its runs."""

    REQUESTED = "requested"
    QUEUED = "queued"
    OPENED = "opened"
    RUNNING = "running"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    LOST = "lost"
    RECORDING = "recording"
    RECORDED = "recorded"
    REFUSED = "refused"

    @property
    def is_over(self) -> bool:
        """Whether no command runs any more, or none that SuperTwin follows."""
        return self in OVER

    @property
    def is_followed(self) -> bool:
        """Whether a runner is expected to report."""
        return self in FOLLOWED

    @property
    def is_ending(self) -> bool:
        """Whether a running command is to be ended."""
        return self in ENDING


class Event(StrEnum):
    """What changes a state; the comments name the threads that cause it."""

    # The request (POST).
    WAIT = "wait"
    OPEN = "open"  # or the start of the API, which resumes a run
    # The follower of the runner, or the client's report (POST …/events).
    START = "start"
    NEXT = "next"
    REFUSE = "refuse"  # or the request
    END = "end"  # or the maintenance, or the start or stop of the API
    # At any time: the user's request (DELETE),
    CANCEL = "cancel"
    # the maintenance, or the follower of the runner,
    LOSE = "lose"
    # the start or stop of the API.
    INTERRUPT = "interrupt"
    # The recorder of the host.
    RECORD = "record"


FOLLOWED: Set[State] = {State.OPENED, State.RUNNING, State.CANCELLED, State.LOST}
ENDING: Set[State] = {State.CANCELLED, State.INTERRUPTED, State.LOST}
OVER: Set[State] = {State.RECORDING, State.RECORDED, State.REFUSED}

_CUT_SHORT = {
    Event.CANCEL: State.CANCELLED,
    Event.LOSE: State.LOST,
    Event.INTERRUPT: State.INTERRUPTED,
}
TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.REQUESTED: {
        Event.WAIT: State.QUEUED,
        Event.OPEN: State.OPENED,
        Event.REFUSE: State.REFUSED,
        Event.INTERRUPT: State.INTERRUPTED,
    },
    State.QUEUED: {Event.OPEN: State.OPENED, Event.REFUSE: State.REFUSED},
    State.OPENED: {
        Event.START: State.RUNNING,
        Event.REFUSE: State.REFUSED,
        **_CUT_SHORT,
    },
    State.RUNNING: {
        Event.NEXT: State.OPENED,
        Event.END: State.RECORDING,
        **_CUT_SHORT,
    },
    State.CANCELLED: {
        Event.END: State.RECORDING,
        Event.LOSE: State.LOST,
        Event.INTERRUPT: State.INTERRUPTED,
    },
    State.LOST: {
        Event.END: State.RECORDING,
        Event.INTERRUPT: State.INTERRUPTED,
    },
    State.INTERRUPTED: {Event.END: State.RECORDING},
    State.RECORDING: {Event.RECORD: State.RECORDED},
    State.RECORDED: {},
    State.REFUSED: {},
}
# Threads do not wait for each other, so these may come too late and change nothing: the
# runner reports while the run is being cut short, or the run is over already.
TOO_LATE: Mapping[Event, Set[State]] = {
    Event.START: ENDING,
    Event.NEXT: ENDING,
    Event.REFUSE: ENDING,
    Event.CANCEL: ENDING | OVER,
    Event.LOSE: (ENDING - {State.CANCELLED}) | OVER,
    Event.INTERRUPT: {State.INTERRUPTED} | OVER,
}


class RunState:
    """The state of one request; only `change` changes it.

    ``problem`` is the error that tells users what went wrong; None if nothing did.
    Methods may be called from any thread, and never wait for a run.
    """

    def __init__(self, id_: str) -> None:
        self.now = State.REQUESTED
        self.problem: Exception | None = None
        self._id = id_
        self._since = time.monotonic()
        self._lock = Lock()

    @property
    def seconds(self) -> float:
        """How long this state has lasted."""
        return time.monotonic() - self._since

    def change(self, event: Event, problem: Exception | None = None) -> bool:
        """Apply an event and set its problem; False if it comes too late.

        Raises RuntimeError if the event cannot happen now: a fault of the caller.
        """
        with self._lock:
            before, after = self.now, TRANSITIONS[self.now].get(event)
            if after is None:
                if before in TOO_LATE.get(event, ()):
                    return False
                raise RuntimeError(f"observation {self._id}: {event} while {before}")
            # Readers do not lock, so set the problem first.
            self.problem = problem or self.problem
            self.now, self._since = after, time.monotonic()
        _LOG.debug("observation %s: %s -> %s (%s)", self._id, before, after, event)
        return True
