"""One run of a wish: what its runner said, kept in a folder until it is recorded."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from observations.launch import Event, program
from observations.record import Observation, run_of
from observations.store import keep_observation
from ontology.iris import Iris
from supertwin.loading import dataset
from supertwin.observing.marks import Mark
from supertwin.observing.meanwhile import Marks, Meanwhile
from supertwin.observing.wish import Wish
from supertwin.settings import Settings

PROGRAM, WISH, EVENTS, RECORDED = "run.py", "wish.json", "events.jsonl", "recorded"
_LAST = ("ended", "refused")


@dataclass
class Repetition:
    """A run with an id of its own; ``before`` and ``after`` are its marks."""

    id: str
    wish: Wish
    folder: Path
    before: Mark
    after: Mark | None = None
    events: list[Event] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether its runner has said its last."""
        return bool(self.events) and self.events[-1]["event"] in _LAST

    @property
    def refusal(self) -> str:
        """Why the command could not be started; empty where it could."""
        first = self.events[0] if self.events else {}
        return str(first["reason"]) if first.get("event") == "refused" else ""

    def take(self, event: Event) -> None:
        """Keep what its runner said."""
        self.events.append(event)
        with (self.folder / EVENTS).open("a") as kept:
            kept.write(json.dumps(event) + "\n")

    def record(self, settings: Settings, meanwhile: Meanwhile, broken: str) -> None:
        """Write its graph, once all that was sampled is there; ``broken``: see Run.

        Raises ObservationError and what the stores raise.
        """
        run = run_of(self.events, broken)
        marks = Marks(self.before, self.after or Mark())
        observation = Observation(
            self.id,
            self.wish.asked,
            run,
            {metric.name: metric.iri for metric in meanwhile.metrics},
            meanwhile.summaries(run, marks, _pids(self.events)),
        )
        with dataset(settings, "twin") as twin:
            keep_observation(observation, twin, Iris(settings.base))
        (self.folder / RECORDED).touch()


def begun(home: Path, wish: Wish, group: str, number: int, before: Mark) -> Repetition:
    """Run ``number`` of a wish, in a new folder with its program."""
    id_ = group if wish.repeat == 1 else f"{group}-{number}"
    if wish.repeat > 1:
        wish = replace(wish, asked=replace(wish.asked, group=group, repetition=number))
    folder = home / "observations" / id_
    folder.mkdir(parents=True, mode=0o700)
    (folder / PROGRAM).write_bytes(program(wish.request()))
    (folder / WISH).write_text(json.dumps(asdict(wish.asked)) + "\n")
    return Repetition(id_, wish, folder, before)


def _pids(events: Sequence[Mapping[str, object]]) -> set[int]:
    """The numbers of all processes of a run that were ever seen."""
    found: set[int] = set()
    for event in events:
        pids = event.get("pids")
        found |= set(pids) if isinstance(pids, list) else set()
    return found
