"""One run of a wish: its events and files in a folder until it is recorded."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from core.linux.private_folder import make_private
from core.settings.settings import Settings
from core.stores.datasets import dataset
from observations.launch import Event
from observations.local_runner import is_begun
from observations.program import program
from observations.record import Observation, run_of
from observations.session.counter_snapshots import Mark, Marks, read_mark
from observations.session.event_log import BEAT, Said
from observations.session.run_request import Wish
from observations.session.run_sampling import Meanwhile
from observations.store import keep_observation
from ontology.iris import Iris

PROGRAM, WISH, EVENTS, RECORDED = "run.py", "wish.json", "events.jsonl", "recorded"
_BEFORE, _AFTER = "before.json", "after.json"
_LAST = ("ended", "refused")


@dataclass
class Repetition:
    """A run with its own id; ``before`` and ``after`` are its marks."""

    id: str
    wish: Wish
    folder: Path
    before: Mark
    after: Mark | None = None
    said: Said = field(default_factory=Said)

    @property
    def is_begun(self) -> bool:
        """Whether its runner was started or has sent an event."""
        return bool(self.said.count) or is_begun(self.folder)

    @property
    def is_over(self) -> bool:
        """Whether its runner has sent its last event."""
        return self.said.last.get("event") in _LAST

    @property
    def refusal(self) -> str:
        """Why the command could not be started; empty if it could."""
        first = self.said.first
        return str(first["reason"]) if first.get("event") == "refused" else ""

    @property
    def has_run(self) -> bool:
        """Whether its command was started."""
        return bool(self.said.count) and not self.refusal

    @property
    def is_recorded(self) -> bool:
        """Whether nothing is left to record."""
        return not self.has_run or (self.folder / RECORDED).exists()

    def take(self, event: Event) -> None:
        """Store an event of its runner."""
        with (self.folder / EVENTS).open("a") as kept:
            kept.write(json.dumps(self.said.news(event)) + "\n")
        # Write to disk first: an event counts as heard only then, and is sent again
        # otherwise.
        self.said.add(event)

    def look_after(self, mark: Mark) -> None:
        """Store the counters read at the end of the command."""
        self.after = mark
        (self.folder / _AFTER).write_text(mark.text)

    def record(self, settings: Settings, meanwhile: Meanwhile, broken: str) -> None:
        """Write its graph once all samples have arrived; ``broken``: see `Run`.

        Raises ObservationError and the errors of the stores.
        """
        run = run_of(self.said.events, broken)
        marks = Marks(self.before, self.after or Mark())
        summaries = meanwhile.summaries(run, marks, self.said.pids.keys())
        observation = Observation(
            self.id,
            self.wish.asked,
            run,
            {metric.name: metric.iri for metric in meanwhile.metrics},
            summaries,
            meanwhile.derived(run, marks, summaries),
        )
        with dataset(settings, "twin") as twin:
            keep_observation(observation, twin, Iris(settings.base))
        (self.folder / RECORDED).touch()


def begun(home: Path, wish: Wish, group: str, number: int, before: Mark) -> Repetition:
    """Create the folder and program of run ``number`` of a wish."""
    folder = _folder(home, wish, group, number)
    one = wish.one_of(group, number)
    make_private(folder)
    try:
        (folder / WISH).write_text(json.dumps(asdict(one.asked)) + "\n")
        (folder / _BEFORE).write_text(before.text)
        # Written last: a folder with a program is complete.
        (folder / PROGRAM).write_bytes(program(one.request()))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Repetition(folder.name, one, folder, before)


def left_of(home: Path, wish: Wish, group: str) -> list[Repetition]:
    """Return the runs of a wish that a previous process began."""
    found = []
    for number in range(1, wish.asked.repeat + 1):
        folder = _folder(home, wish, group, number)
        if not (folder / PROGRAM).exists():
            break
        before = read_mark(folder / _BEFORE) or Mark()
        one = Repetition(folder.name, wish.one_of(group, number), folder, before)
        one.after = read_mark(folder / _AFTER)
        one.said = _kept(folder / EVENTS)
        found.append(one)
    return found


def discard_unrun(
    home: Path, wish: Wish, group: str, runs: Sequence[Repetition]
) -> None:
    """Remove the folders of runs whose command never started.

    They contain the variables of ``--env``, including secrets. ``runs`` are those that
    were begun; a folder beyond them was left by a process that was killed while it
    created it.
    """
    kept = {run.folder for run in runs if run.has_run}
    numbers = range(1, min(len(runs) + 1, wish.asked.repeat) + 1)
    for folder in (_folder(home, wish, group, number) for number in numbers):
        if folder not in kept:
            # The process that followed the runner may be removing its files at the same
            # time.
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                raise OSError(f"{folder} cannot be removed: remove it by hand")


def _folder(home: Path, wish: Wish, group: str, number: int) -> Path:
    id_ = group if wish.asked.repeat == 1 else f"{group}-{number}"
    return home / "observations" / id_


def _kept(path: Path) -> Said:
    """Read all complete events; a truncated last line is removed."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Said()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        path.write_bytes(whole)
    events = [json.loads(line) for line in whole.splitlines()]
    said = Said(events)
    for event in events[::-1]:
        if event["event"] == BEAT and "pids" in event:
            event["pids"] = list(said.pids)  # the file has only each beat's new ones
            break
    return said
