"""The event with the profile of a run, as a model."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from observations.event_types import EventModel, Number, ShortLine, Size, Word

_Binary = Annotated[
    tuple[ShortLine, Annotated[str, Field(pattern=r"^[0-9a-f]{0,128}$")]],
    Field(strict=False),
]
_Function = Annotated[tuple[ShortLine, Size, ShortLine, Size], Field(strict=False)]
# Count of a stack, and the positions of its functions.
_Frames = Annotated[list[Size], Field(min_length=1, max_length=200)]
_Stack = Annotated[tuple[Number, _Frames], Field(strict=False)]
# Nanoseconds of a stack, and the positions of its functions.
_WaitStack = Annotated[tuple[Size, _Frames], Field(strict=False)]


class _Stacks(EventModel):
    """What both profiles of a run have."""

    reason: ShortLine
    sampler: Word
    samples: Size
    lost: Size
    note: ShortLine
    binaries: Annotated[list[_Binary], Field(max_length=10_000)]
    functions: Annotated[list[_Function], Field(max_length=100_000)]
    stacks: Sequence[tuple[int, list[int]]]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if any(one[1] >= len(self.binaries) for one in self.functions):
            raise ValueError("a function of no file")
        if any(n >= len(self.functions) for _, stack in self.stacks for n in stack):
            raise ValueError("a stack of no function")
        if not (self.stacks or self.reason):
            raise ValueError("neither stacks nor a reason")
        return self


class _OffCpu(_Stacks):
    """Where threads waited, or the reason why that is not known."""

    waits: Size
    waited_ns: Size
    stacks: Annotated[list[_WaitStack], Field(max_length=5_000)]

    @model_validator(mode="after")
    def _check_time(self) -> Self:
        if sum(ns for ns, _ in self.stacks) > self.waited_ns:
            raise ValueError("more time in stacks than in all waits")
        return self


class ProfileEvent(_Stacks):
    """A recorded profile, or the reason why there is none."""

    event: Literal["profile"]
    rate: Number
    stacks: Annotated[list[_Stack], Field(max_length=5_000)]
    off_cpu: _OffCpu | None = None

    @model_validator(mode="after")
    def _check_samples(self) -> Self:
        if sum(count for count, _ in self.stacks) > self.samples:
            raise ValueError("more stacks than samples")
        return self
