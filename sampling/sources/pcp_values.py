"""Turns results of PCP into samples, for one choice of metrics."""

from collections.abc import Mapping, Sequence

import numpy as np

from core.linux import pmapi
from sampling.sources.pcp_decode import decode, decode_texts
from sampling.sources.pcp_layout import (
    KINDS,
    ColumnLayout,
    FetchedMetric,
    InstanceNames,
)
from sampling.sources.pcp_texts import SeenTexts, Texts
from sampling.sources.source import Gap, Sample


class Values:
    """Reads the results of fetches of these metrics, one after another.

    The metrics are sorted by type, so that texts are last. ``is_stale`` says that all
    instances must be named again; any thread may set it.
    """

    def __init__(
        self,
        chosen: Sequence[FetchedMetric],
        names: InstanceNames,
        sizes: dict[str, int],
        seen: SeenTexts,
    ) -> None:
        self.chosen = chosen
        self.is_stale = False
        self._names = names
        numbers = [metric for metric in chosen if metric.desc.type in KINDS]
        texts = chosen[len(numbers) :]
        self._wide = np.array([KINDS[m.desc.type].wide for m in numbers], np.bool_)
        self._number_of_texts = len(texts)
        self._layout = ColumnLayout(numbers, names, sizes)
        self._texts = Texts(texts, names, sizes, seen)

    def read(
        self, result: pmapi.Result, fetched_at: float, unknown: Mapping[str, Gap]
    ) -> Sample:
        """What a result gave, with the gaps of unknown metrics."""
        if self.is_stale:
            self.is_stale = False
            self._names.forget()
            self._layout.forget()
            self._texts.forget()
        self._names.fetched_at = fetched_at
        raw = decode(result.address, self._wide)
        texts = decode_texts(result.address, len(self._wide), self._number_of_texts)
        columns = self._layout.columns(raw) + self._texts.columns(texts)
        return Sample(columns, {**unknown, **self._layout.gaps, **self._texts.gaps})
