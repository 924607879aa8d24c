"""Made-up series in closed form, so that every statistic follows from the facts.

Times are Unix seconds. Each series has a level; from 40 to 28 minutes before the end of
the facts it may have another one. For a counter the level is its rate per second.
"""

from collections.abc import Iterator
from dataclasses import dataclass

PERIOD = 30
BEFORE, AFTER = 160 * 60, 60 * 60
_PEAK_FROM, _PEAK_TO = 40 * 60, 28 * 60


@dataclass(frozen=True)
class Span:
    """A range of time; it begins after `start` and includes `end`."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start

    def steps(self, seconds: float) -> list["Span"]:
        """The whole steps of this length."""
        count = int(self.seconds / seconds)
        starts = [self.start + number * seconds for number in range(count)]
        return [Span(start, start + seconds) for start in starts]

    def overlap(self, other: "Span") -> float:
        """The seconds that two ranges have in common."""
        return max(0.0, min(self.end, other.end) - max(self.start, other.start))


@dataclass(frozen=True)
class Level:
    """One series up to `end`, the end of the facts; more samples follow it.

    `since` is its first second, `until` its last; `gap` has no samples.
    """

    end: int
    usual: float
    peak: float | None = None
    since: float | None = None
    until: float | None = None
    gap: Span | None = None

    @property
    def _peak(self) -> Span:
        return Span(self.end - _PEAK_FROM, self.end - _PEAK_TO)

    def at(self, time: float) -> float:
        """The value of a gauge."""
        in_peak = self._peak.start < time <= self._peak.end
        return self.usual if self.peak is None or not in_peak else self.peak

    def counted(self, time: float) -> float:
        """The reading of a counter, which begins at 0 with its first sample."""
        span = Span(self.since or self.end - BEFORE, time)
        more = 0.0 if self.peak is None else self.peak - self.usual
        return self.usual * span.seconds + more * span.overlap(self._peak)

    def ticks(self, span: Span) -> Iterator[int]:
        """The times of the samples in a range."""
        first = max(span.start, (self.since or span.start) - 1)
        last = min(span.end, self.until or span.end)
        start = int(first // PERIOD + 1) * PERIOD
        for time in range(start, int(last) + 1, PERIOD):
            if not self.gap or not self.gap.start < time <= self.gap.end:
                yield time

    def values(self, span: Span) -> list[float]:
        """The samples of a gauge in a range."""
        return [self.at(time) for time in self.ticks(span)]

    def mean(self, span: Span) -> float:
        """The mean of a gauge in a range."""
        values = self.values(span)
        return sum(values) / len(values)

    def growth(self, span: Span) -> float:
        """The growth of a counter in a range, from its first sample on."""
        lived = self._lived(span)
        return self.counted(lived.end) - self.counted(lived.start)

    def rate(self, span: Span) -> float:
        """The rate of a counter in a range, per second, from its first sample on."""
        return self.growth(span) / self._lived(span).seconds

    def _lived(self, span: Span) -> Span:
        return Span(max(span.start, self.since or span.start), span.end)
