"""The series that the values of a fetch belong to, kept as long as that is valid."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.linux import pmapi
from sampling.account.reasons import GapCause, GapReason
from sampling.sources.pcp_decode import Raw
from sampling.sources.pcp_reasons import cause_of
from sampling.sources.source import NO_VALUE, Gap, SampleColumn, Series

Names = Mapping[int, str]
Instances = npt.NDArray[np.int32]

NAMELESS = GapCause(GapReason.NAMELESS, "an instance without a name")


class ValueType(NamedTuple):
    """How bits become values: the dtype to read them as, and that of the column."""

    read: type[np.generic]
    column: type[np.generic]
    wide: bool


# In the order of the fetch, so that the metrics of one column are side by side.
KINDS: dict[int, ValueType] = {
    pmapi.TYPE_32: ValueType(np.int32, np.int64, False),
    pmapi.TYPE_U32: ValueType(np.uint32, np.int64, False),
    pmapi.TYPE_64: ValueType(np.int64, np.int64, True),
    pmapi.TYPE_U64: ValueType(np.uint64, np.uint64, True),
    pmapi.TYPE_FLOAT: ValueType(np.float32, np.float32, False),
    pmapi.TYPE_DOUBLE: ValueType(np.float64, np.float64, True),
}


class FetchedMetric(NamedTuple):
    """One metric of the fetch."""

    name: str
    desc: pmapi.MetricDescriptor


def gap_of(count: int, points: int) -> Gap:
    """The gap for a count without values: an error of PCP, or no value at present."""
    return Gap(cause_of(count) if count < 0 else NO_VALUE, points)


class InstanceNames:
    """External names of instances, asked for again when an instance appears.

    An instance that reappears may be another one with the same number, such as a
    process. Names are valid for values that were fetched before the names were asked
    for: ``fetched_at`` (monotonic).
    """

    def __init__(self, ask: Callable[[int], Names]) -> None:
        self.fetched_at = 0.0
        self._ask = ask
        self._known: dict[int, Names] = {}
        self._asked_at: dict[int, float] = {}
        self._last: dict[str, set[int]] = {}
        self._series: dict[str, tuple[Names, dict[int, Series]]] = {}

    def of(self, indom: int, instances: set[int], came: bool = False) -> Names:
        """Names of a domain by number; an instance that has just gone has none."""
        known = self._known.get(indom)
        if known is None or came or not known.keys() >= instances:
            known = self._ask_names(indom)
        return known

    def series(
        self, metric: "FetchedMetric", instances: list[int]
    ) -> list[Series | None]:
        """The series of a metric's values; None if the instance has just gone."""
        if metric.desc.indom == pmapi.NO_INDOM:
            return [Series(metric.name, None)] * len(instances)
        here = set(instances)
        came = not here <= self._last.get(metric.name, here)
        self._last[metric.name] = here
        names = self.of(metric.desc.indom, here, came)
        series = self._of(metric.name, names)
        for instance in (here & names.keys()) - series.keys():
            series[instance] = Series(metric.name, names[instance])
        return [series.get(instance) for instance in instances]

    def forget(self) -> None:
        """Forget all names, so that they are asked for again."""
        self._known.clear()
        self._asked_at.clear()

    def _ask_names(self, indom: int) -> Names:
        if (
            self._asked_at.get(indom, -1.0) < self.fetched_at
            or indom not in self._known
        ):
            self._asked_at[indom] = time.monotonic()
            self._known[indom] = self._ask(indom)
        return self._known[indom]

    def _of(self, metric: str, names: Names) -> dict[int, Series]:
        """The series of a metric by instance, as long as these names are valid."""
        known = self._series.get(metric)
        if known is None or known[0] is not names:
            known = self._series[metric] = (names, {})
        return known[1]


class ColumnLayout:
    """Turns the raw values of one choice of metrics into columns.

    Metrics are sorted in the order of KINDS. ``sizes`` holds how many values each
    metric last had, and is shared with earlier and later layouts.
    """

    def __init__(
        self,
        chosen: Sequence[FetchedMetric],
        names: InstanceNames,
        sizes: dict[str, int],
    ) -> None:
        self.gaps: dict[str, Gap] = {}
        self._chosen = chosen
        self._names = names
        self._sizes = sizes
        self._types = np.array([metric.desc.type for metric in chosen], np.int64)
        self._pieces: dict[str, tuple[bytes, list[Series | None]]] = {}
        self._shape: tuple[bytes, bytes] | None = None
        self._bounds: list[int] = []
        self._series: dict[type[np.generic], Sequence[Series]] = {}
        self._named: npt.NDArray[np.bool_] | None = None

    def forget(self) -> None:
        """Name all values again at the next fetch."""
        self._pieces.clear()
        self._shape = None

    def columns(self, raw: Raw) -> tuple[SampleColumn, ...]:
        """The values as columns, without those of instances that have no name."""
        shape = raw.counts.tobytes(), raw.instances.tobytes()
        if shape != self._shape:
            self._shape = shape
            self._rebuild(raw)
        bits = raw.bits
        return self._split(bits if self._named is None else bits[self._named])

    def _split(self, bits: npt.NDArray[np.uint64]) -> tuple[SampleColumn, ...]:
        parts: dict[type[np.generic], list[npt.NDArray[np.generic]]] = {}
        for code, kind in KINDS.items():
            piece = bits[self._bounds[code] : self._bounds[code + 1]]
            if len(piece):
                parts.setdefault(kind.column, []).append(_values(piece, kind))
        return tuple(
            SampleColumn(self._series[dtype], np.concatenate(pieces))
            for dtype, pieces in parts.items()
        )

    def _rebuild(self, raw: Raw) -> None:
        """Name all values again; metrics with the same instances keep their names."""
        self.gaps = {}
        series: dict[type[np.generic], list[Series | None]] = {}
        start = 0
        for metric, count in zip(self._chosen, raw.counts.tolist(), strict=True):
            end = start + max(count, 0)
            piece = self._piece(metric, raw.instances[start:end])
            series.setdefault(KINDS[metric.desc.type].column, []).extend(piece)
            self._note(metric.name, count, piece.count(None))
            start = end
        self._keep(series)
        types = np.repeat(self._types, np.maximum(raw.counts, 0))
        if self._named is not None:
            types = types[self._named]
        self._bounds = np.searchsorted(types, np.arange(len(KINDS) + 1)).tolist()

    def _keep(self, series: dict[type[np.generic], list[Series | None]]) -> None:
        named = [name is not None for names in series.values() for name in names]
        self._named = None if all(named) else np.array(named, np.bool_)
        self._series = {
            dtype: tuple(name for name in names if name is not None)
            for dtype, names in series.items()
        }

    def _note(self, metric: str, count: int, nameless: int) -> None:
        """Note why a metric has no values, or how many it has."""
        if count > 0:
            self._sizes[metric] = count
        else:
            self.gaps[metric] = gap_of(count, self._sizes.get(metric, 1))
        if nameless:
            self.gaps[metric] = Gap(NAMELESS, nameless)
            self.forget()

    def _piece(
        self, metric: FetchedMetric, instances: Instances
    ) -> list[Series | None]:
        key = instances.tobytes()
        known = self._pieces.get(metric.name)
        if known is None or known[0] != key:
            known = (key, self._names.series(metric, instances.tolist()))
            self._pieces[metric.name] = known
        return known[1]


def _values(bits: npt.NDArray[np.uint64], kind: ValueType) -> npt.NDArray[np.generic]:
    narrow = bits if kind.wide else bits.astype(np.uint32)
    values = narrow.view(kind.read)
    return values.astype(kind.column) if kind.read is not kind.column else values
