"""Writes exported samples back into the series store."""

from collections.abc import Iterable, Iterator
from itertools import islice

from core.settings.settings import Settings
from core.stores.series_writing import AT_ONCE, line, write_lines
from observations.exchange.export import Point

_Series = tuple[str, str, str | None]


def restore_series(settings: Settings, points: Iterable[Point]) -> None:
    """Write points, a batch at a time; raises SeriesError."""
    write_lines(settings, _lines(points))


def _lines(points: Iterable[Point]) -> Iterator[bytes]:
    rest = iter(points)
    while batch := list(islice(rest, AT_ONCE)):
        by_series: dict[_Series, list[Point]] = {}
        for point in batch:
            by_series.setdefault(point[:3], []).append(point)
        for (name, host, instance), found in by_series.items():
            labels = {"__name__": name, "hostname": host}
            labels |= {} if instance is None else {"instname": instance}
            yield line(
                labels,
                [point.time_ms for point in found],
                [point.value for point in found],
            )
