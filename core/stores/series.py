"""Reads the points of series from the store as they were written."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np
import orjson

from core.errors import SeriesError
from core.settings.accounts import store_read_account
from core.settings.settings import Settings
from core.stores.http_connection import BROKEN, FORM, HttpConnection, basic, lines
from core.stores.points import Points
from core.stores.scope import series_filter
from ontology.selectors import escaped, pattern

_SECONDS, _CONNECT_SECONDS = 60.0, 2.0
_OK = 200


class SeriesKey(NamedTuple):
    """A series of a host: its name, and its instance (None: the metric has none)."""

    name: str
    instance: str | None


def series_reader(settings: Settings) -> HttpConnection:
    """Return a connection for reading series, with our account."""
    asks = basic(store_read_account(settings))
    return HttpConnection(settings.store_read, asks, _CONNECT_SECONDS)


def read_points(
    store: HttpConnection,
    host: str,
    names: Sequence[str],
    start_ms: int,
    end_ms: int,
    seconds: float = _SECONDS,
) -> dict[SeriesKey, Points]:
    """Return the points of some series of a host within [start, end], in time order.

    Raises SeriesError if the store does not answer.
    """
    match = f'{{__name__=~"{escaped(pattern(names))}",hostname="{escaped(host)}"}}'
    return read_matching(store, match, start_ms, end_ms, seconds)


def read_matching(
    store: HttpConnection,
    match: str,
    start_ms: int,
    end_ms: int,
    seconds: float = _SECONDS,
) -> dict[SeriesKey, Points]:
    """Return the points of all series that match, as `read_points` does.

    Raises OutOfScopeError, too.
    """
    form = {
        "match[]": match,
        "start": f"{start_ms / 1000:.3f}",
        "end": f"{end_ms / 1000:.3f}",
        "reduce_mem_usage": "1",
        **series_filter(),
    }
    body, headers = urlencode(form, doseq=True).encode(), {"Content-Type": FORM}
    try:
        # New points become visible every two seconds, or after a flush.
        store.request("GET", "/internal/force_flush", seconds=seconds).read()
        answer = store.request("POST", "/api/v1/export", body, headers, seconds)
        if answer.status != _OK:
            raise SeriesError(
                f"the series store at {store.url} answered with {answer.status}: see "
                "`make status`"
            )
        return _joined(lines(answer), start_ms, end_ms)
    except BROKEN as error:
        raise SeriesError(
            f"the series store at {store.url} does not answer ({error}): see "
            "`make status`"
        ) from None


def _joined(
    rows: Iterable[bytes], start_ms: int, end_ms: int
) -> dict[SeriesKey, Points]:
    """Join the pieces of each series; the store sends them in any order."""
    pieces: dict[SeriesKey, list[Points]] = {}
    for key, points in _pieces(rows):
        pieces.setdefault(key, []).append(points)
    return {key: _one(found, start_ms, end_ms) for key, found in pieces.items()}


def _pieces(rows: Iterable[bytes]) -> Iterator[tuple[SeriesKey, Points]]:
    for text in filter(bytes.strip, rows):
        row = orjson.loads(text)
        labels = row["metric"]
        stamps = np.array(row["timestamps"], np.int64)
        values = np.array(row["values"], np.float64)
        key = SeriesKey(labels["__name__"], labels.get("instname"))
        yield key, Points(stamps, values)


def _one(pieces: Sequence[Points], start_ms: int, end_ms: int) -> Points:
    """Sort the points, and drop repeated times and times outside the span."""
    stamps, first = np.unique(
        np.concatenate([piece.stamps for piece in pieces]), return_index=True
    )
    values = np.concatenate([piece.values for piece in pieces])[first]
    inside = (stamps >= start_ms) & (stamps <= end_ms)
    return Points(stamps[inside], values[inside])
