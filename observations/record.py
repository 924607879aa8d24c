"""An observation: what was requested, what ran, how it ended, what was measured."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from rdflib import XSD, Literal

from observations.environment import is_secret
from observations.launch import RunnerEvent
from observations.pop.times import sources
from observations.regions.regions import RegionRecord
from observations.regions.regions import sources as region_sources
from observations.statistics import Span, Statistics


class Outcome(StrEnum):
    """How a command ended; without a report of its end it broke off."""

    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    BROKE_OFF = "broke off"


@dataclass(frozen=True)
class RunSpec:
    """What a user asked to run and observe.

    ``pinning_queries`` are the addresses of the saved queries that chose the CPUs, and
    ``by`` is the user who asked. ``environment`` is added to the host's own,
    ``timeout`` is in seconds, and ``repeat`` is the number of runs. ``pop`` records how
    its threads spend their time; ``libomp``: see `TimeRecording`. ``regions`` records
    the regions that the command names.
    """

    host: str
    argv: tuple[str, ...]
    cpus: tuple[int, ...] = ()
    policy: str = ""
    tags: tuple[str, ...] = ()
    cwd: str = ""
    period_ms: int = 1000
    group: str = ""
    repetition: int = 1
    pinning_queries: tuple[str, ...] = ()
    by: str = ""
    metrics: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    repeat: int = 1
    timeout: float | None = None
    pop: bool = False
    libomp: bool = False
    regions: bool = False

    @property
    def command(self) -> str:
        """The argument vector, quoted for a shell."""
        return shlex.join(self.argv)

    @property
    def vector(self) -> str:
        """The argument vector as JSON."""
        return json.dumps(self.argv, ensure_ascii=False)

    @property
    def variables(self) -> list[str]:
        """The added variables as NAME=value; of secrets only the name."""
        return [
            name if is_secret(name, value) else f"{name}={value}"
            for name, value in self.environment.items()
        ]


@dataclass(frozen=True)
class RunRequest:
    """A request to run a command; the client runs an ``attended`` one and reports.

    ``user`` runs the command; by default the user that SuperTwin runs as. ``within``
    are the folders that it may start in or below; empty means any.
    """

    spec: RunSpec
    attended: bool = False
    user: str = ""
    within: tuple[str, ...] = ()

    @property
    def samples(self) -> bool:
        """Whether anything is sampled."""
        return bool(self.spec.metrics or self.spec.roles or self.spec.events)

    def one_of(self, group: str, number: int) -> "RunRequest":
        """Return the request for one of its runs."""
        if self.spec.repeat == 1:
            return self
        return replace(self, spec=replace(self.spec, group=group, repetition=number))

    def request(self, events: Sequence[Mapping[str, Any]] = ()) -> dict[str, object]:
        """Return the request for its runner; ``events`` are counted in its regions."""
        spec = self.spec
        return {
            "argv": list(spec.argv),
            "cpus": list(spec.cpus),
            "cwd": spec.cwd or None,
            "within": list(self.within),
            "env": dict(spec.environment),
            "timeout": spec.timeout,
            "look": self.samples,
            "show_all": self.attended,
            **self._recordings(events),
        }

    def _recordings(self, events: Sequence[Mapping[str, Any]]) -> dict[str, object]:
        found: dict[str, object] = {}
        if self.spec.pop:
            found["pop"] = {"sources": sources(), "libomp": self.spec.libomp}
        if self.spec.regions:
            found["regions"] = {"sources": region_sources(), "events": [*events]}
        return found


@dataclass(frozen=True)
class Summary:
    """Figures of one series; ``metric`` is the PCP name, ``metric_iri`` its IRI.

    ``resolution``: seconds between two updates by its source, if longer than the
    period.
    """

    metric: str
    metric_iri: str
    instance: str | None
    figures: Statistics
    resolution: float | None = None


@dataclass(frozen=True)
class DerivedFigure:
    """A figure derived from totals of ``roles``, or the reason why it is missing.

    ``covered``: seconds that the totals cover. ``dutycycle``: the smallest share of
    that time in which an event had a counter; below 1 the value is an estimate.
    """

    name: str
    roles: tuple[str, ...]
    unit: str = ""
    value: float | None = None
    covered: float = 0.0
    dutycycle: float = 1.0
    reason: str = ""


@dataclass(frozen=True)
class Run:
    """What happened to a command, according to its runner's events.

    If the end is missing, the span ends at the last sign of life. ``pop`` is what was
    recorded of its threads, and ``regions`` of its regions, if that was requested.
    """

    started: RunnerEvent
    span: Span
    ended: RunnerEvent | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    pop: Mapping[str, Any] | None = None
    regions: Mapping[str, Any] | None = None

    @property
    def outcome(self) -> Outcome:
        """How the command ended."""
        if self.ended is None:
            return Outcome.BROKE_OFF
        if self.ended["timed_out"]:
            return Outcome.TIMED_OUT
        if self.ended["cancelled"]:
            return Outcome.CANCELLED
        if self.ended["signal"] is not None:
            return Outcome.KILLED
        return Outcome.FAILED if self.ended["exit"] else Outcome.COMPLETED


@dataclass(frozen=True)
class Observation:
    """One run and what was sampled during it; ``metrics`` maps PCP names to IRIs.

    ``problem_code`` is the code of the error that ended it early; empty if none did.
    ``regions`` are the regions that were recorded, ``region_figures`` the figures of
    each, and ``region_events`` the events that were requested by name.
    """

    id: str
    spec: RunSpec
    run: Run
    metrics: Mapping[str, str]
    summaries: Sequence[Summary]
    derived: Sequence[DerivedFigure] = ()
    problem_code: str = ""
    regions: RegionRecord | None = None
    region_figures: Sequence[Sequence[DerivedFigure]] = ()
    region_events: frozenset[str] = frozenset()


def run_of(events: Sequence[RunnerEvent]) -> Run:
    """Build a run from all events of its runner; the first event is its start."""
    started = events[0]
    named = {event["event"]: event for event in events}
    ended = named.get("ended")
    last = ended["end_ns"] if ended else named.get("alive", {}).get("ns")
    span = Span(started["start_ns"] / 1e6, (last or started["exec_ns"]) / 1e6)
    about = {k: v for k, v in named.get("about", {}).items() if k != "event"}
    return Run(started, span, ended, about, named.get("pop"), named.get("regions"))


def plan_of(id_: str) -> str:
    """Return the name of the plan that samples an observation or a group."""
    return f"run-{id_}"


def at(ms: float) -> datetime:
    """Convert Unix milliseconds to a time, to the microsecond."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def time_literal(ms: float) -> Literal:
    """Convert Unix milliseconds to the literal in the graph."""
    return Literal(at(ms).isoformat(timespec="microseconds"), datatype=XSD.dateTime)
