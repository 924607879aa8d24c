"""The points of a time span in a store, counted from the store's export."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import httpx
import numpy as np
import numpy.typing as npt
import orjson

from bench.sampling.idle import INSTANCES, NAME
from bench.sampling.peer import DATABASE
from tests.servers import VictoriaMetrics

OURS = f'{{__name__=~"proc_.+",instname=~"{INSTANCES}"}}'
PEERS = f'{{__name__=~"proc_.+__[0-9]+_{NAME}(_.*)?",db="{DATABASE}"}}'


@dataclass
class Counted:
    """Points of a time span, points of metrics that cannot be zero, and their zeros."""

    inserted: int = 0
    above_zero: int = 0
    zeros: int = 0


class Block(NamedTuple):
    """The labels of a series, and the milliseconds and values of its points."""

    labels: dict[str, str]
    stamps: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def ticks(store: VictoriaMetrics, match: str, start_ms: int, end_ms: int) -> list[int]:
    """Milliseconds in [start, end) at which any series has a point, in order."""
    found: set[int] = set()
    for block in blocks(store, match, start_ms, end_ms):
        found.update(block.stamps.tolist())
    return sorted(found)


def count(
    store: VictoriaMetrics,
    match: str,
    start_ms: int,
    end_ms: int,
    never_zero: Sequence[str] = (),
) -> Counted:
    """Distinct points in [start, end), and zeros of metrics that are never zero."""
    found = Counted()
    names = tuple(metric.replace(".", "_") for metric in never_zero)
    for block in blocks(store, match, start_ms, end_ms):
        points = len(np.unique(block.stamps))
        found.inserted += points
        if block.labels["__name__"].startswith(names):
            found.above_zero += points
            found.zeros += int(np.count_nonzero(block.values == 0))
    return found


def blocks(
    store: VictoriaMetrics, match: str, start_ms: int, end_ms: int
) -> Iterator[Block]:
    """The points of each series in [start, end)."""
    httpx.get(f"{store.url}/internal/force_flush", timeout=60).raise_for_status()
    params = {
        "match[]": match,
        "start": f"{start_ms / 1000:.3f}",
        "end": f"{(end_ms - 1) / 1000:.3f}",
    }
    with httpx.stream(
        "GET", f"{store.url}/api/v1/export", params=params, timeout=120
    ) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            found = orjson.loads(line)
            stamps = np.array(found["timestamps"], np.int64)
            values = np.array(found["values"], np.float64)
            inside = (stamps >= start_ms) & (stamps < end_ms)
            yield Block(found["metric"], stamps[inside], values[inside])
