"""One run of a wish: what its runner said, kept in a folder until it is recorded."""

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
    """A run with an id of its own; ``before`` and ``after`` are its marks."""

    id: str
    wish: Wish
    folder: Path
    before: Mark
    after: Mark | None = None
    said: Said = field(default_factory=Said)

    @property
    def is_begun(self) -> bool:
        """Whether its runner was started, or has said something."""
        return bool(self.said.count) or is_begun(self.folder)

    @property
    def is_over(self) -> bool:
        """Whether its runner has said its last."""
        return self.said.last.get("event") in _LAST

    @property
    def refusal(self) -> str:
        """Why the command could not be started; empty where it could."""
        first = self.said.first
        return str(first["reason"]) if first.get("event") == "refused" else ""

    @property
    def has_run(self) -> bool:
        """Whether its command was started."""
        return bool(self.said.count) and not self.refusal

    @property
    def is_recorded(self) -> bool:
        """Whether nothing of it is to be recorded any more."""
        return not self.has_run or (self.folder / RECORDED).exists()

    def take(self, event: Event) -> None:
        """Keep what its runner said."""
        with (self.folder / EVENTS).open("a") as kept:
            kept.write(json.dumps(self.said.news(event)) + "\n")
        # What is not on disk was not heard: it is told again.
        self.said.add(event)

    def look_after(self, mark: Mark) -> None:
        """Keep what counters say now that the command is over."""
        self.after = mark
        (self.folder / _AFTER).write_text(mark.text)

    def record(self, settings: Settings, meanwhile: Meanwhile, broken: str) -> None:
        """Write its graph, once all that was sampled is there; ``broken``: see Run.

        Raises ObservationError and what the stores raise.
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
    """Run ``number`` of a wish, in a new folder with its program."""
    folder = _folder(home, wish, group, number)
    one = wish.one_of(group, number)
    make_private(folder)
    try:
        (folder / WISH).write_text(json.dumps(asdict(one.asked)) + "\n")
        (folder / _BEFORE).write_text(before.text)
        # The last: what has a program is whole.
        (folder / PROGRAM).write_bytes(program(one.request()))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Repetition(folder.name, one, folder, before)


def left_of(home: Path, wish: Wish, group: str) -> list[Repetition]:
    """The runs of a wish that were begun by a process that is no more."""
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

    They hold the variables of ``--env``, secrets included. ``runs`` are those that
    were begun; a folder after them was left by a process that was killed meanwhile.
    """
    kept = {run.folder for run in runs if run.has_run}
    numbers = range(1, min(len(runs) + 1, wish.asked.repeat) + 1)
    for folder in (_folder(home, wish, group, number) for number in numbers):
        if folder not in kept:
            # Whoever followed the runner may be removing its files at the same time.
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                raise OSError(f"{folder} cannot be removed: remove it by hand")


def _folder(home: Path, wish: Wish, group: str, number: int) -> Path:
    id_ = group if wish.asked.repeat == 1 else f"{group}-{number}"
    return home / "observations" / id_


def _kept(path: Path) -> Said:
    """All that was written whole; a line that was cut short is taken out."""
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
            event["pids"] = list(said.pids)  # of which it had told the new ones
            break
    return said
