"""Turns samples into rows of the log: each value with the labels of its series."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ontology.selectors import series_labels
from sampler_bridge.log.rows import LogRows, Values
from sampler_bridge.sending.remote_write import labels
from sampling.account.reasons import GapCause, GapReason
from sampling.sources.source import Gap, Sample, SampleColumn, Series

_METRIC = attrgetter("metric")
_NO_NUMBER = GapCause(GapReason.NOT_STORED, "the value is not a number")


class Labelled(NamedTuple):
    """The rows of one sample, the number of values, and the non-numbers by metric."""

    rows: Sequence[LogRows]
    points: int
    left_out: Mapping[str, Gap]


class _Heads(NamedTuple):
    """The heads (encoded labels) of a column's series, in order and by series."""

    series: Sequence[Series]
    known: Mapping[Series, bytes]
    heads: Sequence[bytes]


_NONE = _Heads((), {}, ())


class Labeller:
    """Labels the samples of one host; ``names`` gives each metric's series name.

    The labels of a series are kept as long as the column contains it.
    """

    def __init__(self, host: str, names: Mapping[str, str]) -> None:
        self._host = host
        self._names = names
        self._kept: dict[np.dtype[np.generic], _Heads] = {}

    def of(self, sample: Sample) -> Labelled:
        """Label all values of a sample."""
        rows, left_out = [], Counter[str]()
        for column in sample.columns:
            values = _numbers(column.values)
            finite = np.isfinite(values)
            if not finite.all():
                left_out.update(map(_METRIC, compress(column.series, ~finite)))
            rows.append(LogRows(self._heads(column), values))
        gaps = {metric: Gap(_NO_NUMBER, points) for metric, points in left_out.items()}
        return Labelled(rows, sample.points - left_out.total(), gaps)

    def _heads(self, column: SampleColumn) -> Sequence[bytes]:
        kept = self._kept.get(column.values.dtype, _NONE)
        if kept.series is not column.series:
            known = kept.known.get
            now = {one: known(one) or self._head(one) for one in column.series}
            heads = [now[one] for one in column.series]
            kept = self._kept[column.values.dtype] = _Heads(column.series, now, heads)
        return kept.heads

    def _head(self, series: Series) -> bytes:
        named = series_labels(self._host, series.instance, series.text)
        return labels({"__name__": self._names[series.metric], **named})


def _numbers(values: npt.NDArray[np.generic]) -> Values:
    """Values as the store keeps them.

    A float32 becomes the shortest number that reads back as it (0.05, not
    0.05000000074505806): the number that the kernel reported, which also compresses
    better.
    """
    if values.dtype == np.float32:
        return np.array([float(str(value)) for value in values], np.float64)
    return values.astype(np.float64)
