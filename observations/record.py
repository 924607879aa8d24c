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
from sampling.events.passes import CountingPass

# Three recorders, each compiled in at most 60 s, and perf, which attaches in 20 s.
_PREPARATION_SECONDS = 200.0


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
    its threads spend their time; ``libomp`` and ``trace``: see `TimeRecording`.
    ``hot_loops`` samples where it computes, ``profile`` samples its stacks (Hz of CPU
    time), ``off_cpu`` with it those of waits, and ``regions`` records named regions.

    With ``multiplex``, events may share counters. With ``passes``, it is run once for
    each of them, ``repeat`` times; ``common`` is an event that is counted in all, and
    ``pass_number`` is that of this run, from 1.
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
    trace: bool = False
    hot_loops: bool = False
    profile: int = 0
    off_cpu: bool = False
    regions: bool = False
    multiplex: bool = False
    passes: tuple[CountingPass, ...] = ()
    common: str = ""
    pass_number: int = 0

    @property
    def preparation_seconds(self) -> float:
        """How long its recorders may take on the host before the command starts."""
        is_prepared = self.pop or self.regions or self.hot_loops or self.profile
        return _PREPARATION_SECONDS if is_prepared else 0.0

    @property
    def runs(self) -> int:
        """The number of all runs of the request."""
        return self.repeat * max(1, len(self.passes))

    @property
    def counted(self) -> CountingPass:
        """The roles and events that this run counts."""
        if self.pass_number:
            return self.passes[self.pass_number - 1]
        return CountingPass(self.roles, self.events)

    @property
    def is_last_pass(self) -> bool:
        """Whether all other passes of its round were run before it."""
        return bool(self.passes) and self.pass_number == len(self.passes)

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
        """Return the request for a run; the passes of a round follow each other."""
        spec = self.spec
        if spec.runs == 1:
            return self
        if not spec.passes:
            return replace(self, spec=replace(spec, group=group, repetition=number))
        rounds, place = divmod(number - 1, len(spec.passes))
        one = replace(spec, group=group, repetition=rounds + 1, pass_number=place + 1)
        return replace(self, spec=one)

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
            found["pop"] = {
                "sources": sources(),
                "libomp": self.spec.libomp,
                "trace": self.spec.trace,
            }
        if self.spec.regions:
            found["regions"] = {"sources": region_sources(), "events": [*events]}
        if self.spec.hot_loops:
            found["hot_loops"] = True
        if self.spec.profile:
            found["profile"] = self.spec.profile
            found["off_cpu"] = self.spec.off_cpu
        return found


@dataclass(frozen=True)
class Summary:
    """Figures of one series; ``metric`` is the PCP name, ``metric_iri`` its IRI.

    ``resolution``: seconds between two updates by its source, if longer than the
    period. ``dutycycle``: the share of the time in which a PMU event had a counter;
    below 1 its figures are estimates.
    """

    metric: str
    metric_iri: str
    instance: str | None
    figures: Statistics
    resolution: float | None = None
    dutycycle: float | None = None


@dataclass(frozen=True)
class DerivedFigure:
    """A figure derived from totals of ``roles``, or the reason why it is missing.

    ``covered``: seconds that the totals cover. ``dutycycle``: the smallest share of
    that time in which an event had a counter; below 1 the value is an estimate.
    ``passes``: the numbers of the passes that counted its ``events``, if there were
    passes. ``spread``: how far several of them differ, in percent.
    """

    name: str
    roles: tuple[str, ...]
    unit: str = ""
    value: float | None = None
    covered: float = 0.0
    dutycycle: float = 1.0
    reason: str = ""
    events: tuple[str, ...] = ()
    passes: tuple[int, ...] = ()
    spread: float | None = None


@dataclass(frozen=True)
class PassAgreement:
    """How far the passes of a round differ, in percent of their mean.

    ``event`` is None if no event was counted in all of them.
    """

    duration: float
    cpu_time: float | None = None
    event: float | None = None

    @property
    def largest(self) -> float:
        """The largest of the differences."""
        found = (self.duration, self.cpu_time, self.event)
        return max(one for one in found if one is not None)


@dataclass(frozen=True)
class Run:
    """What happened to a command, according to its runner's events.

    If the end is missing, the span ends at the last sign of life. ``pop`` is what was
    recorded of its threads, ``hot_loops`` of its code, ``regions`` of its regions, and
    ``profile`` of its stacks, if that was requested.
    """

    started: RunnerEvent
    span: Span
    ended: RunnerEvent | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    pop: Mapping[str, Any] | None = None
    hot_loops: Mapping[str, Any] | None = None
    regions: Mapping[str, Any] | None = None
    profile: Mapping[str, Any] | None = None

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
    agreement: PassAgreement | None = None
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
    recorded = (named.get(n) for n in ("pop", "hot_loops", "regions", "profile"))
    return Run(started, span, ended, about, *recorded)


def plan_of(id_: str) -> str:
    """Return the name of the plan that samples an observation or a group."""
    return f"run-{id_}"


def at(ms: float) -> datetime:
    """Convert Unix milliseconds to a time, to the microsecond."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def time_literal(ms: float) -> Literal:
    """Convert Unix milliseconds to the literal in the graph."""
    return Literal(at(ms).isoformat(timespec="microseconds"), datatype=XSD.dateTime)
