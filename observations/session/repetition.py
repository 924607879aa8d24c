"""One run of a request: its events and files in a folder until it is recorded."""

import json
import shutil
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any

from core.linux.private_folder import make_private
from observations.launch import RunnerEvent, program
from observations.local_runner import was_started
from observations.record import Run, RunRequest, run_of
from observations.session.counter_snapshots import (
    CounterSnapshot,
    RunSnapshots,
    read_snapshot,
)

PROGRAM, EVENTS, RECORDED = "run.py", "events.jsonl", "recorded"
# The request in the program.
REQUEST = "request.json"
# Runs that were recorded earlier have the file by this name.
SPEC = "wish.json"  # codespell:ignore wish
_BEFORE, _AFTER = "before.json", "after.json"
_BEAT, _LAST = "alive", ("ended", "refused")


class EventLog:
    """The events of a run, numbered from 1.

    A runner sends a *beat* every second as a sign of life; only the last one is kept.
    ``pids`` are the pids that the events named, in that order. Methods may be called
    from any thread.
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
            self.pids |= dict.fromkeys(_pids_of(event))
            if event["event"] == _BEAT:
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
        """Return the event; a beat without the pids that earlier events named."""
        if event["event"] != _BEAT or "pids" not in event:
            return event
        return {
            **event,
            "pids": [pid for pid in _pids_of(event) if pid not in self.pids],
        }


def _pids_of(event: RunnerEvent) -> list[int]:
    """Return the pids that an event names."""
    pids = event.get("pids")
    return [p for p in pids if isinstance(p, int)] if isinstance(pids, list) else []


@dataclass
class Repetition:
    """A run with its own id; ``before`` and ``after`` are its snapshots."""

    id: str
    run_request: RunRequest
    folder: Path
    before: CounterSnapshot
    after: CounterSnapshot | None = None
    log: EventLog = field(default_factory=EventLog)

    @property
    def was_started(self) -> bool:
        """Whether its runner was started or has sent an event."""
        return bool(self.log.count) or was_started(self.folder)

    @property
    def is_over(self) -> bool:
        """Whether its runner has sent its last event."""
        return self.log.last.get("event") in _LAST

    @property
    def refusal(self) -> str:
        """Why the command could not be started; empty if it could."""
        first = self.log.first
        return str(first["reason"]) if first.get("event") == "refused" else ""

    @property
    def has_run(self) -> bool:
        """Whether its command was started."""
        return bool(self.log.count) and not self.refusal

    @property
    def is_recorded(self) -> bool:
        """Whether nothing is left to record."""
        return not self.has_run or (self.folder / RECORDED).exists()

    @property
    def result(self) -> Run:
        """What happened to its command so far; call this only if `has_run`."""
        return run_of(self.log.events)

    @property
    def snapshots(self) -> RunSnapshots:
        """The counters before and after it; those after it may be empty."""
        return RunSnapshots(self.before, self.after or CounterSnapshot())

    def take(self, event: RunnerEvent) -> None:
        """Store an event of its runner."""
        with (self.folder / EVENTS).open("a") as kept:
            kept.write(json.dumps(self.log.news(event)) + "\n")
        # Write to disk first: an event that is not on disk is not acknowledged, so the
        # runner sends it again.
        self.log.add(event)

    def snapshot_after(self, snapshot: CounterSnapshot) -> None:
        """Store the counters read at the end of the command."""
        self.after = snapshot
        (self.folder / _AFTER).write_text(snapshot.text)

    def mark_recorded(self) -> None:
        """Note that its graph is written."""
        (self.folder / RECORDED).touch()


class Repetitions:
    """The runs of a request so far; their events are numbered from the first on."""

    def __init__(self) -> None:
        self.all: list[Repetition] = []
        self._earlier = 0

    @property
    def latest(self) -> Repetition | None:
        """The latest run; None before the first."""
        return self.all[-1] if self.all else None

    @property
    def ids(self) -> list[str]:
        """The ids of the runs."""
        return [run.id for run in self.all]

    @property
    def event_count(self) -> int:
        """The number of events of all runs."""
        return self._earlier + (self.all[-1].log.count if self.all else 0)

    @property
    def last_event(self) -> RunnerEvent:
        """The last event of the latest run; empty if there is none."""
        return self.all[-1].log.last if self.all else {}

    @property
    def command(self) -> RunnerEvent:
        """The first event of the latest run, which names the process of the command."""
        return self.all[-1].log.first if self.all else {}

    def add(self, run: Repetition) -> None:
        """Add the next run."""
        self._earlier = self.event_count
        self.all.append(run)

    def events_since(self, number: int) -> list[tuple[int, RunnerEvent]]:
        """Return the events after a number, each with its number and its ``run``."""
        found: list[tuple[int, RunnerEvent]] = []
        before = 0
        for run in self.all[:] if number < self.event_count else []:
            for at, event in run.log.since(number - before):
                found.append((before + at, {**event, "run": run.id}))
            before += run.log.count
        return found


def begin_run(
    home: Path,
    run_request: RunRequest,
    group: str,
    number: int,
    before: CounterSnapshot,
    events: Sequence[Mapping[str, Any]] = (),
) -> Repetition:
    """Create the folder and program of run ``number`` of a request.

    ``events`` are counted in the regions of the command.
    """
    folder = _folder(home, run_request, group, number)
    one = run_request.one_of(group, number)
    make_private(folder)
    try:
        (folder / SPEC).write_text(json.dumps(asdict(one.spec)) + "\n")
        (folder / _BEFORE).write_text(before.text)
        request = one.request(events)
        (folder / REQUEST).write_text(json.dumps(request))
        # Written last: a folder with a program is complete.
        (folder / PROGRAM).write_bytes(program(request))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Repetition(folder.name, one, folder, before)


def unfinished_runs(
    home: Path, run_request: RunRequest, group: str
) -> list[Repetition]:
    """Return the runs of a request that a previous process began."""
    found = []
    for number in range(1, run_request.spec.runs + 1):
        folder = _folder(home, run_request, group, number)
        if not (folder / PROGRAM).exists():
            break
        before = read_snapshot(folder / _BEFORE) or CounterSnapshot()
        one = Repetition(folder.name, run_request.one_of(group, number), folder, before)
        one.after = read_snapshot(folder / _AFTER)
        one.log = _read_events(folder / EVENTS)
        found.append(one)
    return found


def discard_unstarted(
    home: Path, run_request: RunRequest, group: str, runs: Sequence[Repetition]
) -> None:
    """Remove the folders of runs whose command never started.

    They contain the variables of ``--env``, including secrets. ``runs`` are those that
    were begun; a folder beyond them was left by a process that was killed while it
    created it.
    """
    kept = {run.folder for run in runs if run.has_run}
    numbers = range(1, min(len(runs) + 1, run_request.spec.runs) + 1)
    for folder in (_folder(home, run_request, group, number) for number in numbers):
        if folder not in kept:
            # The process that followed the runner may be removing its files at the same
            # time.
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                raise OSError(f"{folder} cannot be removed: remove it by hand")


def _folder(home: Path, run_request: RunRequest, group: str, number: int) -> Path:
    id_ = group if run_request.spec.runs == 1 else f"{group}-{number}"
    return home / "observations" / id_


def _read_events(path: Path) -> EventLog:
    """Read all complete events; a truncated last line is removed."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return EventLog()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        path.write_bytes(whole)
    events = [json.loads(line) for line in whole.splitlines()]
    log = EventLog(events)
    for event in events[::-1]:
        if event["event"] == _BEAT and "pids" in event:
            event["pids"] = list(log.pids)  # the file has only each beat's new ones
            break
    return log
