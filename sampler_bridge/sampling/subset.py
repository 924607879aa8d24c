"""Removes values from a sample that its period does not sample."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sampling.account.reasons import GapCause, GapReason
from sampling.plan_file.choice import InstanceSelection
from sampling.sources.source import Gap, Sample, SampleColumn, Series

ABSENT = GapCause(GapReason.ABSENT, "no such instance at present")


class _Mask(NamedTuple):
    """Which values of a column stay; ``whole`` is the column's own list of series.

    ``given`` counts the values of each metric that is not sampled whole; of one with
    named instances, the names that have values.
    """

    whole: Sequence[Series]
    kept: npt.NDArray[np.bool_]
    series: Sequence[Series]
    given: Mapping[str, int]


class Subset:
    """Reduces the samples of a period to the instances that its plans name.

    The mask of a column is kept as long as its series stay the same.
    """

    def __init__(self, choices: Mapping[str, InstanceSelection]) -> None:
        self._choices = choices
        self._masks: dict[np.dtype[np.generic], _Mask] = {}
        self._points = {
            metric: len(choice.only)
            for metric, choice in choices.items()
            if choice.only is not None
        }

    def expected(self, metrics: Iterable[str]) -> int:
        """The number of values to expect before the first sample."""
        return sum(self._points.get(metric, 1) for metric in metrics)

    def of(self, sample: Sample) -> Sample:
        """The chosen part of a sample; a chosen instance that is absent is a gap."""
        if not self._choices:
            return sample
        masks = [self._mask(column) for column in sample.columns]
        columns = tuple(
            SampleColumn(mask.series, column.values[mask.kept])
            for mask, column in zip(masks, sample.columns, strict=True)
        )
        given = {metric: n for mask in masks for metric, n in mask.given.items()}
        self._points |= {m: n for m, n in given.items() if self._is_open(m)}
        gaps = {
            name: self._gap(name, gap, given.get(name, 0))
            for name, gap in sample.missing.items()
        }
        absent = self._absent(given, gaps)
        missing = {name: gap for name, gap in gaps.items() if gap.points}
        return Sample(columns, {**absent, **missing})

    def _mask(self, column: SampleColumn) -> _Mask:
        mask = self._masks.get(column.values.dtype)
        if mask is None or mask.whole is not column.series:
            mask = self._made(column.series)
            self._masks[column.values.dtype] = mask
        return mask

    def _made(self, whole: Sequence[Series]) -> _Mask:
        kept = np.array([self._has(series) for series in whole], np.bool_)
        series = tuple(compress(whole, kept))
        return _Mask(whole, kept, series, self._given(series))

    def _given(self, series: Iterable[Series]) -> Mapping[str, int]:
        chosen = [one for one in series if one.metric in self._choices]
        named = {
            (one.metric, self._choices[one.metric].name_of(one.instance))
            for one in chosen
            if not self._is_open(one.metric)
        }
        given = Counter(one.metric for one in chosen if self._is_open(one.metric))
        return given + Counter(metric for metric, _ in named)

    def _has(self, series: Series) -> bool:
        choice = self._choices.get(series.metric)
        return choice is None or choice.has(series.instance)

    def _is_open(self, metric: str) -> bool:
        return self._choices[metric].only is None

    def _gap(self, metric: str, gap: Gap, given: int) -> Gap:
        """Reduce a gap of a metric to the chosen values that were not given."""
        known = self._points.get(metric)
        if known is None:
            return gap
        open_ = self._is_open(metric)
        return Gap(gap.cause, min(gap.points, known) if open_ else known - given)

    def _absent(
        self, given: Mapping[str, int], gaps: Mapping[str, Gap]
    ) -> dict[str, Gap]:
        return {
            metric: Gap(ABSENT, len(choice.only) - given.get(metric, 0))
            for metric, choice in self._choices.items()
            if choice.only is not None
            and metric not in gaps
            and given.get(metric, 0) < len(choice.only)
        }
