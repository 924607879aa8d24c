"""Samples written into the series store again, as they were."""

import json
from collections.abc import Iterator, Sequence

import httpx

from observations.errors import SeriesError
from supertwin.access.accounts import store_account
from supertwin.carrying import Point
from supertwin.settings import Settings

# The store takes no line of more than 10 MB.
_AT_ONCE = 50_000
_TIMEOUT = httpx.Timeout(60.0, connect=2.0)

_Series = tuple[str, str, str | None]


def refill(settings: Settings, points: Sequence[Point]) -> None:
    """Write points; raises SeriesError."""
    url = settings.store_write
    try:
        with httpx.Client(auth=store_account(settings), trust_env=False) as client:
            answer = client.post(
                f"{url}/api/v1/import", content=_lines(points), timeout=_TIMEOUT
            )
            answer.raise_for_status()
    except httpx.HTTPError as error:
        raise SeriesError(
            f"the series store at {url} takes nothing ({error}): `make status` tells "
            "more"
        ) from None


def _lines(points: Sequence[Point]) -> Iterator[bytes]:
    by_series: dict[_Series, list[Point]] = {}
    for point in points:
        by_series.setdefault(point[:3], []).append(point)
    for series, found in by_series.items():
        for first in range(0, len(found), _AT_ONCE):
            yield _line(series, found[first : first + _AT_ONCE])


def _line(series: _Series, points: Sequence[Point]) -> bytes:
    """As `/api/v1/export` gives it."""
    name, host, instance = series
    labels = {"__name__": name, "hostname": host}
    labels |= {} if instance is None else {"instname": instance}
    line = {
        "metric": labels,
        "values": [point.value for point in points],
        "timestamps": [point.time_ms for point in points],
    }
    return json.dumps(line).encode() + b"\n"
