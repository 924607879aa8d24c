"""Series names and samples as Prometheus' text format, without a loop per value."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from ontology.selectors import selector, series_labels
from sampler_bridge.sources.source import Column, Gap, Sample, Series

_METRIC = attrgetter("metric")


class Text(NamedTuple):
    """The lines of one sample, how many, and what could not be written, by metric."""

    payload: bytes
    points: int
    left_out: Mapping[str, Gap]


class Lines:
    """Writes the samples of one host; ``names`` gives each metric's series name.

    The text of a column's series is kept for as long as the series stay the same.
    """

    def __init__(self, host: str, names: Mapping[str, str]) -> None:
        self._host = host
        self._names = names
        self._kept: dict[np.dtype[np.generic], tuple[Sequence[Series], list[str]]] = {}

    def text(self, sample: Sample, tick_ms: int) -> Text:
        """All values of a sample, stamped with its tick in milliseconds."""
        left_out: Counter[str] = Counter()
        parts: list[str] = []
        for column in sample.columns:
            parts += self._column(column, f" {tick_ms}\n", left_out)
        gaps = {
            metric: Gap("the value is not a number", points)
            for metric, points in left_out.items()
        }
        return Text("".join(parts).encode(), len(parts) // 3, gaps)

    def _column(
        self, column: Column, stamp: str, left_out: Counter[str]
    ) -> Iterable[str]:
        """Three parts for each line: series, value, stamp."""
        series, values = self._heads(column), column.values
        finite = np.isfinite(values)
        if not finite.all():
            left_out.update(map(_METRIC, compress(column.series, ~finite)))
            series, values = list(compress(series, finite)), values[finite]
        parts = [stamp] * (3 * len(series))
        parts[0::3] = series
        parts[1::3] = map(str, _printable(values))
        return parts

    def _heads(self, column: Column) -> list[str]:
        kept = self._kept.get(column.values.dtype)
        if kept is None or kept[0] is not column.series:
            kept = (column.series, [self._head(series) for series in column.series])
            self._kept[column.values.dtype] = kept
        return kept[1]

    def _head(self, series: Series) -> str:
        labels = series_labels(self._host, series.instance, series.text)
        return selector(self._names[series.metric], labels) + " "


def _printable(values: "np.typing.NDArray[np.generic]") -> Iterable[object]:
    """Values whose text reads back as the same value in their own precision.

    A float32 stays one (0.05, not 0.05000000074505806): it is what the kernel said,
    and it packs better.
    """
    return values if values.dtype == np.float32 else values.tolist()
