"""The event with the profile of a command."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from observations.event_types import Address, EventModel, Number, ShortLine, Size, Word
from observations.profiles.recording import MOST_NODES, MOST_PLACES


class _ProfiledBinary(EventModel):
    path: ShortLine
    build_id: Annotated[str, Field(pattern=r"^[0-9a-f]{0,128}$")]
    reason: ShortLine


class ProfileEvent(EventModel):
    """The call tree of a command, as its runner recorded it."""

    event: Literal["profile"]
    reason: ShortLine
    sampler: Word
    rate: Number
    samples: Size
    lost: Size
    notes: Annotated[list[ShortLine], Field(max_length=10)]
    binaries: Annotated[list[_ProfiledBinary], Field(max_length=20_000)]
    # Name, position of the binary, source file, address.
    functions: Annotated[
        list[
            Annotated[tuple[ShortLine, Number, ShortLine, Address], Field(strict=False)]
        ],
        Field(max_length=MOST_PLACES),
    ]
    # Position of the caller, or -1, and of the function, line, samples.
    nodes: Annotated[
        list[
            Annotated[
                tuple[Annotated[int, Field(ge=-1)], Number, Number, Size],
                Field(strict=False),
            ]
        ],
        Field(max_length=MOST_NODES),
    ]

    @model_validator(mode="after")
    def _positions_exist(self) -> Self:
        """Raise ValueError unless each caller comes before what it calls."""
        if any(caller >= at for at, (caller, *_) in enumerate(self.nodes)):
            raise ValueError("a function is called before its caller")
        if any(one[1] >= len(self.functions) for one in self.nodes):
            raise ValueError("a call of a function that is not listed")
        if any(one[1] >= len(self.binaries) for one in self.functions):
            raise ValueError("a function of a file that is not listed")
        if self.samples != sum(one[3] for one in self.nodes):
            raise ValueError("the samples differ from those of the call tree")
        return self
