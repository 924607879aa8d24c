"""Writes exported samples back into the series store."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import httpx

from core.errors import SeriesError
from core.settings.accounts import store_write_account
from core.settings.settings import Settings
from observations.exchange.export import Point

# The store rejects lines of more than 10 MB.
_AT_ONCE = 50_000
_TIMEOUT = httpx.Timeout(60.0, connect=2.0)

_Series = tuple[str, str, str | None]


def restore_series(settings: Settings, points: Iterable[Point]) -> None:
    """Write points, a batch at a time; raises SeriesError."""
    url = settings.store_write
    try:
        with httpx.Client(
            auth=store_write_account(settings), trust_env=False
        ) as client:
            answer = client.post(
                f"{url}/api/v1/import", content=_lines(points), timeout=_TIMEOUT
            )
            answer.raise_for_status()
    except httpx.HTTPError as error:
        raise SeriesError(
            f"the series store at {url} takes no points ({error}): see `make status`"
        ) from None


def _lines(points: Iterable[Point]) -> Iterator[bytes]:
    rest = iter(points)
    while batch := list(islice(rest, _AT_ONCE)):
        by_series: dict[_Series, list[Point]] = {}
        for point in batch:
            by_series.setdefault(point[:3], []).append(point)
        for series, found in by_series.items():
            yield _line(series, found)


def _line(series: _Series, points: Sequence[Point]) -> bytes:
    """Encode samples of one series in the format of `/api/v1/export`."""
    name, host, instance = series
    labels = {"__name__": name, "hostname": host}
    labels |= {} if instance is None else {"instname": instance}
    line = {
        "metric": labels,
        "values": [point.value for point in points],
        "timestamps": [point.time_ms for point in points],
    }
    return json.dumps(line).encode() + b"\n"
