"""Reads the stored request of a run, which may come from a crate."""

from collections.abc import Callable
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from observations.events import first_error
from observations.profiles.profile import MOST_RATE

_Cpu = Annotated[int, Field(ge=0, lt=2**31)]


_PATH = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"
# Names become those of files.
_Sources = dict[Annotated[str, Field(pattern=r"^[a-z]{1,40}$")], str]


class _Recorder(BaseModel):
    model_config = ConfigDict(strict=True)

    sources: _Sources
    libomp: bool = False
    trace: bool = False


class _RegionEvent(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str
    type: int | None = None
    config: int | None = None
    config1: int | None = None
    # Names become those of files.
    device: Annotated[str, Field(pattern=_PATH)] | None = None
    event: Annotated[str, Field(pattern=_PATH)] | None = None


class _RegionRecorder(BaseModel):
    model_config = ConfigDict(strict=True)

    sources: _Sources
    events: list[_RegionEvent] = []


class StoredRequest(BaseModel):
    """The members of a request that a runner reads; others are dropped."""

    model_config = ConfigDict(strict=True)

    argv: list[str] = Field(min_length=1)
    env: dict[str, str] = {}
    private: list[str] = []
    cpus: list[_Cpu] = []
    cwd: str | None = None
    within: list[str] = []
    timeout: FiniteFloat | None = None
    look: bool = False
    show_all: bool = False
    pop: _Recorder | None = None
    hot_loops: bool = False
    profile: Annotated[int, Field(ge=0, le=MOST_RATE)] = 0
    off_cpu: bool = False
    regions: _RegionRecorder | None = None


def without_values(stored: bytes, hides: Callable[[str, str], bool]) -> dict[str, Any]:
    """Return a stored request without the values of some variables.

    It then runs only where they are set. Raises ValueError, with one line, if it is not
    a valid request.
    """
    found = _valid(stored)
    hidden = {name for name, value in found.env.items() if hides(name, value)}
    if hidden:
        found.env = {n: value for n, value in found.env.items() if n not in hidden}
        found.private = sorted({*found.private, *hidden})
    return found.model_dump(exclude_unset=True)


def _valid(stored: bytes) -> StoredRequest:
    # Unlike json, orjson refuses NaN, lone surrogates and deep nesting.
    document = orjson.loads(stored)
    try:
        return StoredRequest.model_validate(document)
    except ValidationError as error:
        raise ValueError(f"not a request of a run: {first_error(error)}") from None
