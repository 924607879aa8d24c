"""The events of a runner as models: which members they have, and which values."""

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeInt,
    TypeAdapter,
    model_validator,
)

from observations.regions.piped import MOST_SLICES
from observations.regions.recording import MOST_EVENTS, MOST_TIMES

# In base64: a runner keeps and sends at most 1 MiB at once.
_MOST_TEXT = 1_400_000
_BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

# In ns; up to the year 2262.
_Time = Annotated[int, Field(ge=0, lt=2**63)]
_Pid = Annotated[int, Field(ge=0, lt=2**31)]
_Size = Annotated[int, Field(ge=0, lt=2**63)]
_Word = Annotated[str, Field(max_length=300)]
_ShortLine = Annotated[str, Field(max_length=1_000, pattern=r"^[^\x00-\x1f]*$")]
_Address = Annotated[int, Field(ge=0, lt=2**63)]
_Cycles = Annotated[float, Field(ge=0, lt=1e9)]
_Line = Annotated[str, Field(max_length=10_000)]
_Text = Annotated[str, Field(max_length=_MOST_TEXT, pattern=_BASE64)]
# A variable may be as long as Linux allows for one argument.
_Values = dict[str, Annotated[str, Field(max_length=131_072)]]
_Lines = Annotated[list[_Line], Field(max_length=10_000)]


class _Said(BaseModel):
    model_config = ConfigDict(strict=True)


class _Started(_Said):
    event: Literal["started"]
    start_ns: _Time
    exec_ns: _Time
    pid: _Pid
    start_ticks: _Size
    boot: _Word
    user: _Word | None = None


class _Output(_Said):
    event: Literal["output"]
    stream: Literal["stdout", "stderr"]
    data: _Text


class _Alive(_Said):
    event: Literal["alive", "over"]
    ns: _Time
    pids: list[_Pid] = []


class _Program(_Said):
    path: _Line | None = None
    sha256: _Word | None = None
    build_id: _Word | None = None
    compilers: _Lines = []
    libraries: _Lines = []


class _About(_Said):
    event: Literal["about"]
    system: _Values
    kernel_arguments: _Lines
    governors: _Lines
    program: _Program | None = None
    environment: _Values


class _Left(_Said):
    name: _Word


class _Used(_Said):
    user_seconds: FiniteFloat
    system_seconds: FiniteFloat
    minor_faults: NonNegativeInt
    major_faults: NonNegativeInt
    voluntary_switches: NonNegativeInt
    involuntary_switches: NonNegativeInt
    max_rss_kib: NonNegativeInt | None
    max_rss_bound_kib: NonNegativeInt | None = None


class _Kept(_Said):
    bytes: _Size
    head: _Text
    tail: _Text
    cut: _Size


class _Streams(_Said):
    # The names become file names, so no others are allowed.
    model_config = ConfigDict(extra="forbid")

    stdout: _Kept
    stderr: _Kept


class _ProcessTimes(_Said):
    rank: Annotated[int, Field(ge=-1, lt=2**31)]
    size: _Pid
    openmp: Literal["recorded", "none", "libgomp", "other-tool"]
    ns: _Time
    threads: Annotated[
        list[Annotated[list[_Time], Field(min_length=7, max_length=7)]],
        Field(min_length=1, max_length=100_000),
    ]


class _Pop(_Said):
    event: Literal["pop"]
    reason: _Line
    processes: Annotated[list[_ProcessTimes], Field(max_length=100_000)]


class _HotFunction(_Said):
    name: _ShortLine
    binary: _ShortLine
    build_id: Annotated[str, Field(pattern=r"^[0-9a-f]{0,128}$")]
    start: _Address
    end: _Address
    samples: _Size
    reason: _ShortLine


# JSON has no tuples.
_Port = Annotated[tuple[_Word, _Cycles], Field(strict=False)]
_Instruction = Annotated[tuple[_Address, _Word, _Size], Field(strict=False)]
_Source = Annotated[tuple[_ShortLine, _Pid, _Pid], Field(strict=False)]


class _Prediction(_Said):
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


class _HotLoop(_Said):
    function: Annotated[int, Field(ge=0, lt=1000)]
    start: _Address
    end: _Address
    samples: _Size
    instructions: Annotated[list[_Instruction], Field(min_length=1, max_length=200)]
    source: _Source | None
    prediction: _Prediction | None
    reason: _ShortLine


class _HotLoops(_Said):
    event: Literal["hot_loops"]
    reason: _ShortLine
    sampler: _Word
    rate: _Pid
    samples: _Size
    analyser: _Word
    cpu: _Word
    machine: _Word
    note: _ShortLine = ""
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


_Binary = Annotated[
    tuple[_ShortLine, Annotated[str, Field(pattern=r"^[0-9a-f]{0,128}$")]],
    Field(strict=False),
]
_Function = Annotated[tuple[_ShortLine, _Size, _ShortLine, _Size], Field(strict=False)]
# Count of a stack, and the positions of its functions.
_Frames = Annotated[list[_Size], Field(min_length=1, max_length=200)]
_Stack = Annotated[tuple[_Pid, _Frames], Field(strict=False)]


class _Profile(_Said):
    event: Literal["profile"]
    reason: _ShortLine
    sampler: _Word
    rate: _Pid
    samples: _Size
    lost: _Size
    note: _ShortLine
    binaries: Annotated[list[_Binary], Field(max_length=10_000)]
    functions: Annotated[list[_Function], Field(max_length=100_000)]
    stacks: Annotated[list[_Stack], Field(max_length=5_000)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if any(one[1] >= len(self.binaries) for one in self.functions):
            raise ValueError("a function of no file")
        if any(n >= len(self.functions) for _, stack in self.stacks for n in stack):
            raise ValueError("a stack of no function")
        if sum(count for count, _ in self.stacks) > self.samples:
            raise ValueError("more stacks than samples")
        if not (self.stacks or self.reason):
            raise ValueError("neither stacks nor a reason")
        return self


_Counts = Annotated[list[_Time], Field(min_length=3, max_length=3)]


class _RegionThread(_Said):
    rank: Annotated[int, Field(ge=-1, lt=2**31)]
    process: _Pid
    thread: _Pid
    piped: bool
    # Position of the region, entries, ns, ns of CPU time, counts of the events.
    times: Annotated[
        list[
            Annotated[
                tuple[
                    _Pid,
                    _Size,
                    _Time,
                    _Time | None,
                    Annotated[list[_Counts], Field(max_length=MOST_EVENTS)],
                ],
                Field(strict=False),
            ]
        ],
        Field(max_length=MOST_TIMES),
    ]
    # Position of the region, begin and end; earlier versions recorded none.
    slices: Annotated[
        list[Annotated[tuple[_Pid, _Time, _Time], Field(strict=False)]],
        Field(max_length=MOST_SLICES),
    ] = []


class _RegionEvent(_Said):
    name: _Word
    reason: _Line


class _Regions(_Said):
    event: Literal["regions"]
    reasons: _Lines
    events: Annotated[list[_RegionEvent], Field(max_length=MOST_EVENTS)]
    user_only: bool
    omitted: _Size
    unbalanced: _Size
    unfinished: _Size
    unreadable: _Size
    left_out_slices: _Size = 0
    # Position of the region around it, or -1, and name.
    regions: Annotated[
        list[
            Annotated[tuple[Annotated[int, Field(ge=-1)], _Word], Field(strict=False)]
        ],
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


class _Ended(_Said):
    event: Literal["ended"]
    end_ns: _Time
    exit: Annotated[int, Field(ge=0, le=255)] | None
    signal: Annotated[int, Field(ge=1, le=64)] | None
    timed_out: bool
    cancelled: _Word
    left_behind: Annotated[list[_Left], Field(max_length=100_000)] = []
    rusage: _Used | None
    output: _Streams


class _Refused(_Said):
    event: Literal["refused"]
    reason: _Line


EVENT: TypeAdapter[_Said] = TypeAdapter(
    Annotated[
        _Started
        | _Output
        | _Alive
        | _About
        | _Pop
        | _HotLoops
        | _Profile
        | _Regions
        | _Ended
        | _Refused,
        Field(discriminator="event"),
    ]
)
