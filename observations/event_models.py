"""The events of a runner as models: which members they have, and which values."""

from typing import Annotated, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeInt,
    TypeAdapter,
    model_validator,
)

from observations.event_types import (
    Address,
    EventModel,
    Line,
    Number,
    ShortLine,
    Size,
    Slices,
    Time,
    Word,
)
from observations.pop.event_model import PopEvent
from observations.profiles.event_model import ProfileEvent
from observations.regions.recording import MOST_EVENTS, MOST_TIMES

# In base64: a runner keeps and sends at most 1 MiB at once.
_MOST_TEXT = 1_400_000
_BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

_Cycles = Annotated[float, Field(ge=0, lt=1e9)]
_Text = Annotated[str, Field(max_length=_MOST_TEXT, pattern=_BASE64)]
# A variable may be as long as Linux allows for one argument.
_Values = dict[str, Annotated[str, Field(max_length=131_072)]]
_Lines = Annotated[list[Line], Field(max_length=10_000)]


class _Started(EventModel):
    event: Literal["started"]
    start_ns: Time
    exec_ns: Time
    pid: Number
    start_ticks: Size
    boot: Word
    user: Word | None = None


class _Output(EventModel):
    event: Literal["output"]
    stream: Literal["stdout", "stderr"]
    data: _Text


class _Alive(EventModel):
    event: Literal["alive", "over"]
    ns: Time
    pids: list[Number] = []


class _Program(EventModel):
    path: Line | None = None
    sha256: Word | None = None
    build_id: Word | None = None
    compilers: _Lines = []
    libraries: _Lines = []


class _About(EventModel):
    event: Literal["about"]
    system: _Values
    kernel_arguments: _Lines
    governors: _Lines
    program: _Program | None = None
    environment: _Values


class _Left(EventModel):
    name: Word


class _Used(EventModel):
    user_seconds: FiniteFloat
    system_seconds: FiniteFloat
    minor_faults: NonNegativeInt
    major_faults: NonNegativeInt
    voluntary_switches: NonNegativeInt
    involuntary_switches: NonNegativeInt
    max_rss_kib: NonNegativeInt | None
    max_rss_bound_kib: NonNegativeInt | None = None


class _Kept(EventModel):
    bytes: Size
    head: _Text
    tail: _Text
    cut: Size


class _Streams(EventModel):
    # The names become file names, so no others are allowed.
    model_config = ConfigDict(extra="forbid")

    stdout: _Kept
    stderr: _Kept


class _HotFunction(EventModel):
    name: ShortLine
    binary: ShortLine
    build_id: Annotated[str, Field(pattern=r"^[0-9a-f]{0,128}$")]
    start: Address
    end: Address
    samples: Size
    reason: ShortLine


# JSON has no tuples.
_Port = Annotated[tuple[Word, _Cycles], Field(strict=False)]
_Instruction = Annotated[tuple[Address, Word, Size], Field(strict=False)]
_Source = Annotated[tuple[ShortLine, Number, Number], Field(strict=False)]


class _Prediction(EventModel):
    latencies: Annotated[list[_Cycles], Field(max_length=200)]
    loads: Annotated[list[bool], Field(max_length=200)]
    stores: Annotated[list[bool], Field(max_length=200)]
    micro_operations: _Cycles
    dispatch_width: Annotated[int, Field(ge=1, lt=1000)]
    scheduled: _Cycles
    perfect: _Cycles
    ports: Annotated[list[_Port], Field(max_length=200)]

    def fits(self, number: int) -> bool:
        """Whether it is for this number of instructions."""
        return number == len(self.latencies) == len(self.loads)


class _HotLoop(EventModel):
    function: Annotated[int, Field(ge=0, lt=1000)]
    start: Address
    end: Address
    samples: Size
    instructions: Annotated[list[_Instruction], Field(min_length=1, max_length=200)]
    source: _Source | None
    prediction: _Prediction | None
    reason: ShortLine


class _HotLoops(EventModel):
    event: Literal["hot_loops"]
    reason: ShortLine
    sampler: Word
    rate: Number
    samples: Size
    analyser: Word
    cpu: Word
    machine: Word
    note: ShortLine = ""
    load_latencies: Annotated[list[_Cycles], Field(max_length=4)]
    functions: Annotated[list[_HotFunction], Field(max_length=1000)]
    loops: Annotated[list[_HotLoop], Field(max_length=1000)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.functions and not self.samples:
            raise ValueError("functions without samples")
        for loop in self.loops:
            if loop.function >= len(self.functions):
                raise ValueError("a loop of no function")
            if loop.prediction and not loop.prediction.fits(len(loop.instructions)):
                raise ValueError("a prediction for other instructions")
        return self


_Counts = Annotated[list[Time], Field(min_length=3, max_length=3)]


class _RegionThread(EventModel):
    rank: Annotated[int, Field(ge=-1, lt=2**31)]
    process: Number
    thread: Number
    piped: bool
    # Position of the region, entries, ns, ns of CPU time, counts of the events.
    times: Annotated[
        list[
            Annotated[
                tuple[
                    Number,
                    Size,
                    Time,
                    Time | None,
                    Annotated[list[_Counts], Field(max_length=MOST_EVENTS)],
                ],
                Field(strict=False),
            ]
        ],
        Field(max_length=MOST_TIMES),
    ]
    # Position of the region, begin and end; earlier versions recorded none.
    slices: Slices = []


class _RegionEvent(EventModel):
    name: Word
    reason: Line


class _Regions(EventModel):
    event: Literal["regions"]
    reasons: _Lines
    events: Annotated[list[_RegionEvent], Field(max_length=MOST_EVENTS)]
    user_only: bool
    omitted: Size
    unbalanced: Size
    unfinished: Size
    unreadable: Size
    left_out_slices: Size = 0
    # Position of the region around it, or -1, and name.
    regions: Annotated[
        list[Annotated[tuple[Annotated[int, Field(ge=-1)], Word], Field(strict=False)]],
        Field(max_length=MOST_TIMES),
    ]
    threads: Annotated[list[_RegionThread], Field(max_length=100_000)]

    @model_validator(mode="after")
    def _positions_exist(self) -> "_Regions":
        """Raise ValueError unless each region comes after the one around it."""
        if any(parent >= at for at, (parent, _) in enumerate(self.regions)):
            raise ValueError("a region comes before the region around it")
        every = [one[0] for t in self.threads for one in t.times]
        every += [one[0] for t in self.threads for one in t.slices]
        if any(at >= len(self.regions) for at in every):
            raise ValueError("a thread was in a region that is not listed")
        if any(end < begin for t in self.threads for _, begin, end in t.slices):
            raise ValueError("a region ends before it begins")
        return self


class _Ended(EventModel):
    event: Literal["ended"]
    end_ns: Time
    exit: Annotated[int, Field(ge=0, le=255)] | None
    signal: Annotated[int, Field(ge=1, le=64)] | None
    timed_out: bool
    cancelled: Word
    left_behind: Annotated[list[_Left], Field(max_length=100_000)] = []
    rusage: _Used | None
    output: _Streams


class _Refused(EventModel):
    event: Literal["refused"]
    reason: Line


EVENT: TypeAdapter[EventModel] = TypeAdapter(
    Annotated[
        _Started
        | _Output
        | _Alive
        | _About
        | PopEvent
        | _HotLoops
        | ProfileEvent
        | _Regions
        | _Ended
        | _Refused,
        Field(discriminator="event"),
    ]
)
