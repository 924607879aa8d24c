"""The body of a request for an observation, and its conversion to a request."""

import re
from typing import Annotated, Any, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from api.body import schema_of
from api.observations.serialise import refused
from observations.profiles.profile import MOST_RATE, USUAL_RATE
from observations.record import RunRequest, RunSpec
from pinning.policy import LONGEST
from sampling.plans.request import parse_period

_MOST_WORDS, _MOST_NAMES = 10_000, 10_000
_CPUS = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?")
_MOST_CPUS = 1 << 16

Text = Annotated[str, StringConstraints(max_length=4096, pattern=r"^[^\x00]*$")]
Word = Annotated[str, StringConstraints(max_length=131_071, pattern=r"^[^\x00]*$")]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Name = Annotated[str, StringConstraints(pattern=r"^[^=\x00]{1,300}$")]


class ChosenCpus(NamedTuple):
    """CPUs, the policy that chose them and why, and the saved queries that it used."""

    cpus: tuple[int, ...]
    policy: str = ""
    reason: str = ""
    queries: tuple[str, ...] = ()


class Launch(NamedTuple):
    """How to run a command: as a user, empty: ours; in or below folders, empty: any."""

    user: str = ""
    within: tuple[str, ...] = ()


class NewObservation(BaseModel):
    """A command, where it runs, and what is sampled during the run."""

    model_config = ConfigDict(extra="forbid")

    argv: list[Word] = Field(
        min_length=1,
        max_length=_MOST_WORDS,
        description="The command as words; no shell is involved",
        examples=[["likwid-bench", "-t", "triad", "-w", "S0:100kB"]],
    )
    host: str = Field(
        default="", max_length=300, description="Host to run on; default: this one"
    )
    pin: str = Field(
        default="",
        min_length=1,
        max_length=LONGEST,
        description="Policy that chooses CPUs, as in `/pin`",
    )
    threads: str = Field(
        default="",
        min_length=1,
        max_length=40,
        description="Number of CPUs that the policy chooses",
    )
    cpus: str = Field(
        default="",
        min_length=1,
        max_length=4096,
        description="CPUs to bind it to: 0-3,8",
    )
    metrics: list[str] = Field(
        default=[], max_length=_MOST_NAMES, description="Metrics, named as in PCP"
    )
    roles: list[str] = Field(
        default=[], max_length=1_000, description="Roles, such as FLOPs"
    )
    figures: list[str] = Field(
        default=[],
        max_length=1_000,
        description="Figures whose roles are measured, or imported groups of them",
    )
    events: list[str] = Field(
        default=[], max_length=1_000, description="PMU events, such as msr::tsc"
    )
    every: str = Field(default="1s", description="1ms to 1h, such as 10ms")
    repeat: int = Field(default=1, ge=1, le=1000, description="Number of repetitions")
    multiplex: bool = Field(
        default=False,
        description="Events may share counters; their figures are then estimates",
    )
    passes: bool = Field(
        default=False,
        description="Run it once for each group of events that fits the counters",
    )
    events_per_pass: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="Most events of a pass, without the one that all share",
    )
    tags: list[Tag] = Field(
        default=[], max_length=100, description="Tags, to find the run by"
    )
    env: dict[Name, Word] = Field(
        default={}, max_length=10_000, description="Environment variables to add"
    )
    cwd: Text = Field(default="", description="Working directory, absolute")
    timeout: float | None = Field(
        default=None, gt=0, le=31_536_000, description="Seconds after which it is ended"
    )
    pop: bool = Field(
        default=False,
        description="Record how its threads spend their time, for the POP metrics",
    )
    libomp: bool = Field(
        default=False,
        description="With `pop`: run programs for GCC's libgomp on LLVM's libomp",
    )
    trace: bool = Field(
        default=False,
        description="With `pop`: record also when, for the timeline",
    )
    hot_loops: bool = Field(
        default=False,
        description="Sample where it computes, and analyse its hot loops",
    )
    profile: bool = Field(
        default=False, description="Sample its stacks on the CPU, for a flame graph"
    )
    off_cpu: bool = Field(
        default=False,
        description="With its profile on the CPU, record where its threads wait",
    )
    rate: int = Field(
        default=USUAL_RATE,
        ge=1,
        le=MOST_RATE,
        description="With `profile`: samples in a second of each thread's CPU time",
    )
    regions: bool = Field(
        default=False,
        description="Record the regions that the command names, with their figures",
    )
    wait: bool = Field(
        default=False, description="Wait until these CPUs are free; else 409"
    )
    attended: bool = Field(
        default=False,
        description="The client runs the program and sends its output",
    )
    own_way: bool = Field(
        default=False,
        description="The client reaches the host itself, for example by srun",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.profile or self.off_cpu) and self.hot_loops:
            raise ValueError("profile and hot_loops exclude each other: run it twice")
        return self

    def run_request(
        self, host: str, chosen: ChosenCpus, by: str, launch: Launch
    ) -> RunRequest:
        """Return the request of a user with its CPUs; raises PlanRequestError."""
        spec = RunSpec(
            host,
            tuple(self.argv),
            chosen.cpus,
            policy=chosen.policy,
            pinning_queries=chosen.queries,
            by=by,
            tags=tuple(dict.fromkeys(self.tags)),
            cwd=self.cwd,
            period_ms=parse_period(self.every),
            metrics=tuple(self.metrics),
            roles=tuple(self.roles),
            events=tuple(self.events),
            environment=self.env,
            repeat=self.repeat,
            timeout=self.timeout,
            pop=self.pop or self.libomp or self.trace,
            libomp=self.libomp,
            trace=self.trace,
            hot_loops=self.hot_loops,
            profile=self.rate if self.profile or self.off_cpu else 0,
            off_cpu=self.off_cpu,
            multiplex=self.multiplex,
            regions=self.regions,
        )
        return RunRequest(spec, self.attended, launch.user, launch.within)


def parse_cpus(text: str) -> tuple[int, ...]:
    """Parse a list of CPUs such as 0-3,8; raises ApiError."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        if not _CPUS.fullmatch(part):
            raise refused(f"{part[:40]!r} is not a CPU: write 0-3,8")
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise refused(f"{part!r} ends before it begins: write 0-3,8")
        found |= set(range(int(first), min(int(last or first), _MOST_CPUS) + 1))
    if not found:
        raise refused(f"{text[:40]!r} names no CPU: write 0-3,8")
    return tuple(sorted(found))


SCHEMA: dict[str, Any] = {
    "required": True,
    "content": {"application/json": {"schema": schema_of(NewObservation)}},
}
