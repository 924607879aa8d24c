"""What the models of all events of a runner share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from observations.slice_times import MOST_SLICES

# In ns; up to the year 2262.
Time = Annotated[int, Field(ge=0, lt=2**63)]
Number = Annotated[int, Field(ge=0, lt=2**31)]
Size = Annotated[int, Field(ge=0, lt=2**63)]
Word = Annotated[str, Field(max_length=300)]
ShortLine = Annotated[str, Field(max_length=1_000, pattern=r"^[^\x00-\x1f]*$")]
Address = Annotated[int, Field(ge=0, lt=2**63)]
Line = Annotated[str, Field(max_length=10_000)]
# Of a thread: the position of a name, begin and end. JSON has no tuples.
Slices = Annotated[
    list[Annotated[tuple[Number, Time, Time], Field(strict=False)]],
    Field(max_length=MOST_SLICES),
]


class EventModel(BaseModel):
    """An event of a runner, or a part of one."""

    model_config = ConfigDict(strict=True)
