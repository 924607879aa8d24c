"""What runners say, counted; a run of days says every second that it goes on."""

from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter
from threading import Lock

from observations.launch import Event

BEAT = "alive"


class Said:
    """Events by their numbers, from 1; of the beats among them only the last is kept.

    ``pids`` are those of all processes that any event told of, in the order of their
    coming. Threads may share it.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.count = 0
        self.pids: dict[int, None] = {}
        self._kept: list[tuple[int, Event]] = []
        self._beat: int | None = None
        self._lock = Lock()
        for event in events:
            self.add(event)

    @property
    def events(self) -> list[Event]:
        """All that are kept."""
        return [event for _, event in self.since(0)]

    @property
    def first(self) -> Event:
        """The first one; an empty one where nothing was said."""
        return self._kept[0][1] if self._kept else {}

    @property
    def last(self) -> Event:
        """The last one; an empty one where nothing was said."""
        return self._kept[-1][1] if self._kept else {}

    def add(self, event: Event) -> None:
        """Keep one more."""
        with self._lock:
            self.pids |= dict.fromkeys(pids_of(event))
            if event["event"] == BEAT:
                if self._beat is not None:
                    del self._kept[self._beat]
                self._beat = len(self._kept)
            self.count += 1
            self._kept.append((self.count, event))

    def since(self, number: int) -> list[tuple[int, Event]]:
        """Those after one, by their numbers; beats that others followed are missing."""
        with self._lock:
            return self._kept[bisect_right(self._kept, number, key=itemgetter(0)) :]

    def news(self, event: Event) -> Event:
        """The event without the processes that are known, where it is a beat."""
        if event["event"] != BEAT or "pids" not in event:
            return event
        return {
            **event,
            "pids": [pid for pid in pids_of(event) if pid not in self.pids],
        }


def pids_of(event: Event) -> list[int]:
    """The processes that an event tells of."""
    pids = event.get("pids")
    return [p for p in pids if isinstance(p, int)] if isinstance(pids, list) else []
