"""Texts of a fetch: a series of the value 1 for each text that an instance has."""

import time
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import numpy as np

from sampling.account.reasons import GapCause, GapReason
from sampling.sources.pcp_decode import MOST_BYTES, RawTexts
from sampling.sources.pcp_layout import (
    NAMELESS,
    FetchedMetric,
    InstanceNames,
    gap_of,
)
from sampling.sources.source import Gap, SampleColumn, Series

MOST_TEXTS = 20
TOO_MANY = GapCause(
    GapReason.TEXTS, f"more than {MOST_TEXTS} texts of one instance in an hour"
)
_HOUR = 3600
_CUT = "…"


class SeenTexts:
    """The texts of each instance in this clock hour; more than MOST_TEXTS are refused.

    Every text is a separate series, and the store keeps each of them permanently.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._seen: dict[Series, set[str]] = {}
        self._hour = 0

    @property
    def hour(self) -> int:
        """The present hour since 1970; when it changes, the texts are cleared."""
        hour = int(self._now()) // _HOUR
        if hour != self._hour:
            self._hour = hour
            self._seen.clear()
        return hour

    def admits(self, instance: Series, text: str) -> bool:
        """Whether a text was seen before, or one more is allowed."""
        seen = self._seen.setdefault(instance, set())
        if text not in seen:
            if len(seen) >= MOST_TEXTS:
                return False
            seen.add(text)
        return True


class Texts:
    """Turns the texts of one choice of metrics into a column of ones.

    ``sizes`` is shared with the layouts of numbers; ``seen`` outlives this object.
    """

    def __init__(
        self,
        chosen: Sequence[FetchedMetric],
        names: InstanceNames,
        sizes: dict[str, int],
        seen: SeenTexts,
    ) -> None:
        self.gaps: dict[str, Gap] = {}
        self._chosen = chosen
        self._names = names
        self._sizes = sizes
        self._seen = seen
        self._raw: RawTexts | None = None
        self._hour = 0
        self._columns: tuple[SampleColumn, ...] = ()

    def forget(self) -> None:
        """Name all instances again at the next fetch."""
        self._raw = None

    def columns(self, raw: RawTexts) -> tuple[SampleColumn, ...]:
        """The same column as long as no text changes; empty without texts."""
        hour = self._seen.hour
        if self._raw is None or hour != self._hour or not raw.equals(self._raw):
            self._raw, self._hour = raw, hour
            self._rebuild(raw)
        return self._columns

    def _rebuild(self, raw: RawTexts) -> None:
        self.gaps = {}
        series: list[Series] = []
        texts, instances = raw.texts(), raw.instances.tolist()
        ends = accumulate(np.maximum(raw.counts, 0).tolist(), initial=0)
        for metric, count, (start, end) in zip(
            self._chosen, raw.counts.tolist(), pairwise(ends), strict=True
        ):
            found = self._of(metric, instances[start:end], texts[start:end])
            series += found
            self._note(metric.name, count)
        ones = np.ones(len(series), np.int8)
        self._columns = (SampleColumn(tuple(series), ones),) if series else ()

    def _of(
        self, metric: FetchedMetric, instances: list[int], texts: list[bytes]
    ) -> list[Series]:
        """The series of a metric, without nameless instances and excess texts."""
        named = self._names.series(metric, instances)
        found = []
        for series, raw in zip(named, texts, strict=True):
            text = printable_text(raw)
            if series is None:
                self._miss(metric.name, NAMELESS)
                self.forget()
            elif self._seen.admits(series, text):
                found.append(series._replace(text=text))
            else:
                self._miss(metric.name, TOO_MANY)
        return found

    def _miss(self, metric: str, cause: GapCause) -> None:
        known = self.gaps.get(metric)
        self.gaps[metric] = Gap(cause, 1 + (known.points if known else 0))

    def _note(self, metric: str, count: int) -> None:
        if count > 0:
            self._sizes[metric] = count
        else:
            self.gaps[metric] = gap_of(count, self._sizes.get(metric, 1))


def printable_text(raw: bytes) -> str:
    """A text as a label: up to its NUL, shortened with an ellipsis if it is too long.

    Bytes that are not UTF-8 stay visible and distinct.
    """
    text = raw.split(b"\0", 1)[0]
    if len(text) <= MOST_BYTES:
        return text.decode(errors="backslashreplace")
    whole = text[: MOST_BYTES - len(_CUT.encode())]
    # A character that the cut would split is left out.
    while whole and text[len(whole)] & 0xC0 == 0x80:
        whole = whole[:-1]
    return whole.decode(errors="backslashreplace") + _CUT
