"""The interface of a source of samples, whatever its origin."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sampling.account.reasons import GapCause, GapReason

NO_VALUE = GapCause(GapReason.ABSENT, "no value at present")
UNKNOWN_METRIC = GapCause(GapReason.UNKNOWN, "Unknown metric name")


class Series(NamedTuple):
    """What one value belongs to; ``instance`` is None if the metric has none.

    A metric of texts has a series for each ``text``; all its values are 1.
    """

    metric: str
    instance: str | None
    text: str | None = None


@dataclass(frozen=True, eq=False)
class SampleColumn:
    """Values of one kind: dtype int64, uint64, float32 or float64, shape (n,).

    Those of texts are int8. A sample has one column for each dtype. ``series`` names
    the values in order. It is the same object as long as it does not change, so that
    results derived from it can be kept.
    """

    series: Sequence[Series]
    values: npt.NDArray[np.generic]


class Gap(NamedTuple):
    """Why a metric gave no value, and how many it would have given."""

    cause: GapCause
    points: int


@dataclass(frozen=True, eq=False)
class Sample:
    """All values of one fetch, and the gaps by metric.

    ``taken`` is the time by the clock of the machine that gave it (Unix seconds).
    """

    columns: tuple[SampleColumn, ...]
    missing: Mapping[str, Gap]
    taken: float | None = None

    @property
    def points(self) -> int:
        """The number of values."""
        return sum(len(column.series) for column in self.columns)

    @property
    def expected(self) -> int:
        """The number of values if none were missing."""
        return self.points + sum(gap.points for gap in self.missing.values())


class LateSample(Sample):
    """A sample that is decoded on first access, by the thread that accesses it.

    So the thread that fetched it can fetch the next one meanwhile.
    """

    _work_out: Callable[[], Sample]

    def __init__(self, work_out: Callable[[], Sample], taken: float) -> None:
        vars(self).update(_work_out=work_out, taken=taken)

    def __getattr__(self, name: str) -> object:
        """Decode on first access; Python calls this only for missing attributes."""
        if name not in ("columns", "missing"):
            raise AttributeError(name)
        sample = vars(self).pop("_work_out")()
        vars(self).update(columns=sample.columns, missing=sample.missing)
        return getattr(self, name)


class Source(Protocol):
    """A source that is fetched repeatedly for the same metrics.

    One thread uses a source, from its first call to its last.
    """

    @property
    def connected(self) -> bool:
        """Whether the last call reached the source."""

    def connect(self) -> None:
        """Connect to the source; raises SourceDownError."""

    def select(self, metrics: Sequence[str]) -> None:
        """Fetch these metrics from now on; an unknown one is a gap in each sample."""

    def fetch(self) -> Sample:
        """The current values; raises SourceDownError.

        Samples are accessed in their order, by one thread at a time; a sample that is
        not accessed costs nothing.
        """

    def close(self) -> None:
        """Close the connection to the source."""


@runtime_checkable
class NarrowableSource(Protocol):
    """A source that costs less if it knows which instances are sampled."""

    def narrow(self, only: Collection[str] | None) -> None:
        """Leave out other instances from now on, as far as possible; None: none."""


def select(
    source: Source, metrics: Sequence[str], only: Collection[str] | None
) -> None:
    """Fetch these metrics from now on, and no instance but ``only`` if that helps."""
    source.select(metrics)
    if isinstance(source, NarrowableSource):
        source.narrow(only)
