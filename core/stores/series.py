"""The points of series, read from the store as they were written."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import httpx
import numpy as np
import orjson

from core.errors import SeriesError
from core.stores.points import Points
from ontology.selectors import escaped, pattern

_TIMEOUT = httpx.Timeout(60.0, connect=2.0)


class SeriesKey(NamedTuple):
    """One series of a host by its name in the store; None: it has no instances."""

    name: str
    instance: str | None


def read_points(
    client: httpx.Client,
    url: str,
    host: str,
    names: Sequence[str],
    start_ms: int,
    end_ms: int,
    timeout: httpx.Timeout = _TIMEOUT,
) -> dict[SeriesKey, Points]:
    """Every point of some series of a host within [start, end], in order of time.

    Raises SeriesError where the store does not answer.
    """
    match = f'{{__name__=~"{escaped(pattern(names))}",hostname="{escaped(host)}"}}'
    form = {
        "match[]": match,
        "start": f"{start_ms / 1000:.3f}",
        "end": f"{end_ms / 1000:.3f}",
        "reduce_mem_usage": "1",
    }
    try:
        # New points are shown every two seconds only, or when it is asked for.
        client.get(f"{url}/internal/force_flush", timeout=timeout)
        with client.stream(
            "POST", f"{url}/api/v1/export", data=form, timeout=timeout
        ) as answer:
            if not answer.is_success:
                raise SeriesError(
                    f"the series store at {url} answered with {answer.status_code}"
                )
            return _joined(answer.iter_lines(), start_ms, end_ms)
    except httpx.HTTPError as error:
        raise SeriesError(
            f"the series store at {url} does not answer ({error}): `make status` "
            "tells more"
        ) from None


def _joined(
    lines: Iterable[str], start_ms: int, end_ms: int
) -> dict[SeriesKey, Points]:
    """One series may come in several pieces, which are in no order."""
    pieces: dict[SeriesKey, list[Points]] = {}
    for key, points in _pieces(lines):
        pieces.setdefault(key, []).append(points)
    return {key: _one(found, start_ms, end_ms) for key, found in pieces.items()}


def _pieces(lines: Iterable[str]) -> Iterator[tuple[SeriesKey, Points]]:
    for line in filter(str.strip, lines):
        row = orjson.loads(line)
        labels = row["metric"]
        stamps = np.array(row["timestamps"], np.int64)
        values = np.array(row["values"], np.float64)
        key = SeriesKey(labels["__name__"], labels.get("instname"))
        yield key, Points(stamps, values)


def _one(pieces: Sequence[Points], start_ms: int, end_ms: int) -> Points:
    """In order, each time once, without what the store gives from beside the span."""
    stamps, first = np.unique(
        np.concatenate([piece.stamps for piece in pieces]), return_index=True
    )
    values = np.concatenate([piece.values for piece in pieces])[first]
    inside = (stamps >= start_ms) & (stamps <= end_ms)
    return Points(stamps[inside], values[inside])
