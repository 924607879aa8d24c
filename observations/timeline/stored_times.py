"""Reads when a run and its parts began and ended from its stored events."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from observations.errors import RunnerEventError
from observations.events import event_of
from observations.launch import RunnerEvent
from observations.session.repetition import EVENTS
from queries.run import Row

_WANTED = ("started", "ended", "regions", "pop")
_NS_PER_US = 1000
_MICROSECOND = timedelta(microseconds=1)


class RunTimes(NamedTuple):
    """Times of a run in Unix ns: its start, the start of its command, and its end.

    ``command`` is None if it is unknown. ``regions`` and ``pop`` are the
    runner's events, or None.
    """

    start: int
    command: int | None
    end: int
    regions: Mapping[str, Any] | None = None
    pop: Mapping[str, Any] | None = None


def times_of(home: Path, row: Row) -> RunTimes:
    """Return the times of a run, given as a row of `observations/runs`.

    If its events are not stored on this machine, the times are those of the graph, to
    the microsecond.
    """
    events = {one["event"]: one for one in _events(home, row)}
    start, end = _graph_times(row)
    command = None
    if started := events.get("started"):
        start, command = started["start_ns"], started["exec_ns"]
    if ended := events.get("ended"):
        end = ended["end_ns"]
    recorded = events.get("regions"), events.get("pop")
    return RunTimes(start, command, max(start, end), *recorded)


def _events(home: Path, row: Row) -> Iterator[RunnerEvent]:
    """Yield the events with times; the output, which may be large, is not kept."""
    path = home / "observations" / str(row["run"]).rpartition("/")[2] / EVENTS
    with suppress(OSError), path.open("rb") as lines:
        for line in lines:
            with suppress(RunnerEventError):
                event = event_of(line)
                if event["event"] in _WANTED:
                    yield event


def _graph_times(row: Row) -> tuple[int, int]:
    start = _NS_PER_US * _microseconds(row["started"])
    return start, start + round(float(row["seconds"] or 0) * 1e9)


def _microseconds(time: Any) -> int:
    return int((time - datetime.fromtimestamp(0, UTC)) // _MICROSECOND)
