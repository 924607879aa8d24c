"""Numbered runner events; of the beats, one a second, only the last is kept."""

from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter
from threading import Lock

from observations.launch import RunnerEvent

BEAT = "alive"


class EventLog:
    """Events numbered from 1; of the beats only the last is kept.

    ``pids`` are the pids of all processes that any event named, in that order. Methods
    may be called from any thread.
    """

    def __init__(self, events: Iterable[RunnerEvent] = ()) -> None:
        self.count = 0
        self.pids: dict[int, None] = {}
        self._kept: list[tuple[int, RunnerEvent]] = []
        self._beat: int | None = None
        self._lock = Lock()
        for event in events:
            self.add(event)

    @property
    def events(self) -> list[RunnerEvent]:
        """All kept events."""
        return [event for _, event in self.since(0)]

    @property
    def first(self) -> RunnerEvent:
        """The first event; empty if there is none."""
        return self._kept[0][1] if self._kept else {}

    @property
    def last(self) -> RunnerEvent:
        """The last event; empty if there is none."""
        return self._kept[-1][1] if self._kept else {}

    def add(self, event: RunnerEvent) -> None:
        """Add an event."""
        with self._lock:
            self.pids |= dict.fromkeys(pids_of(event))
            if event["event"] == BEAT:
                if self._beat is not None:
                    del self._kept[self._beat]
                self._beat = len(self._kept)
            self.count += 1
            self._kept.append((self.count, event))

    def since(self, number: int) -> list[tuple[int, RunnerEvent]]:
        """Return the events after a number; all beats but the last are missing."""
        with self._lock:
            return self._kept[bisect_right(self._kept, number, key=itemgetter(0)) :]

    def news(self, event: RunnerEvent) -> RunnerEvent:
        """Return the event; if it is a beat, without the pids that are known."""
        if event["event"] != BEAT or "pids" not in event:
            return event
        return {
            **event,
            "pids": [pid for pid in pids_of(event) if pid not in self.pids],
        }


def pids_of(event: RunnerEvent) -> list[int]:
    """Return the pids that an event names."""
    pids = event.get("pids")
    return [p for p in pids if isinstance(p, int)] if isinstance(pids, list) else []
