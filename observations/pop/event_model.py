"""The event of a runner with the times of threads, as a model."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from observations.event_types import (
    EventModel,
    Line,
    Number,
    Size,
    Slices,
    Time,
    Word,
)

_Rank = Annotated[int, Field(ge=-1, lt=2**31)]


class _ProcessTimes(EventModel):
    rank: _Rank
    size: Number
    openmp: Literal["recorded", "none", "libgomp", "other-tool"]
    ns: Time
    threads: Annotated[
        list[Annotated[list[Time], Field(min_length=7, max_length=7)]],
        Field(min_length=1, max_length=100_000),
    ]


class _TracedThread(EventModel):
    rank: _Rank
    process: Number
    thread: Number
    # Position of the name of the call.
    slices: Slices


class _Trace(EventModel):
    names: Annotated[list[Word], Field(max_length=1000)]
    left_out_slices: Size
    threads: Annotated[list[_TracedThread], Field(max_length=100_000)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        every = [one for thread in self.threads for one in thread.slices]
        if any(at >= len(self.names) for at, _, _ in every):
            raise ValueError("a slice without a name")
        if any(end < begin for _, begin, end in every):
            raise ValueError("a slice ends before it begins")
        return self


class PopEvent(EventModel):
    """The times of all threads; ``trace`` is when they were in MPI and OpenMP."""

    event: Literal["pop"]
    reason: Line
    processes: Annotated[list[_ProcessTimes], Field(max_length=100_000)]
    trace: _Trace | None = None
