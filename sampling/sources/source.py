"""What a source of samples is; nothing here knows where they come from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt


class Series(NamedTuple):
    """What one value belongs to; ``instance`` is None where a metric has none.

    A metric of texts has a series for each ``text``, whose values are all 1.
    """

    metric: str
    instance: str | None
    text: str | None = None


@dataclass(frozen=True, eq=False)
class Column:
    """Values of one kind: dtype int64, uint64, float32 or float64, shape (n,).

    Those of texts are of int8. A sample has one column of a dtype.

    ``series`` names them in order and is the same object for as long as nothing
    about it changed, so that what was derived from it can be kept.
    """

    series: Sequence[Series]
    values: npt.NDArray[np.generic]


class Gap(NamedTuple):
    """Why a metric gave no value, and how many it would have given."""

    reason: str
    points: int


@dataclass(frozen=True, eq=False)
class Sample:
    """All that one fetch gave, and why the rest is not there, by metric.

    ``taken`` is when, by the clock of the machine that gave it (Unix seconds).
    """

    columns: tuple[Column, ...]
    missing: Mapping[str, Gap]
    taken: float | None = None

    @property
    def points(self) -> int:
        """How many values there are."""
        return sum(len(column.series) for column in self.columns)

    @property
    def expected(self) -> int:
        """How many values there would be if none were missing."""
        return self.points + sum(gap.points for gap in self.missing.values())


class LateSample(Sample):
    """A sample that is worked out when it is first looked at, by who does that.

    So that who fetched it can fetch the next one meanwhile.
    """

    _work_out: Callable[[], Sample]

    def __init__(self, work_out: Callable[[], Sample], taken: float) -> None:
        vars(self).update(_work_out=work_out, taken=taken)

    def __getattr__(self, name: str) -> object:
        """What is not there yet; Python asks for nothing else."""
        if name not in ("columns", "missing"):
            raise AttributeError(name)
        sample = vars(self).pop("_work_out")()
        vars(self).update(columns=sample.columns, missing=sample.missing)
        return getattr(self, name)


class Source(Protocol):
    """Something that is asked again and again for the values of the same metrics.

    One thread uses a source, from its first call to its last.
    """

    @property
    def connected(self) -> bool:
        """Whether the last call reached what is behind the source."""

    def connect(self) -> None:
        """Reach what is behind the source; raises SourceDownError."""

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on; one unknown is a gap of each sample."""

    def fetch(self) -> Sample:
        """The values of now; raises SourceDownError.

        Samples are looked at in their order, by one thread at a time; one that nobody
        looks at costs nothing.
        """

    def close(self) -> None:
        """Let go of what is behind the source."""
