"""A long run as a timeline for Perfetto: time, size and memory."""

import time
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.table import Figure
from core.settings.settings import Settings
from core.stores.points import Points
from core.stores.series import SeriesKey
from core.stores.series_writing import series_lines, write_lines
from observations.comparison.run_series import RunSeries
from observations.timeline.trace import Trace
from tests.servers import VictoriaMetrics

_SERIES, _SECONDS, _PERIOD_MS, _START_MS = 100, 3600, 100, 1_793_523_600_000
_RUN, _METRIC, _NAME = "http://localhost:8000/observation/a", "a.b", "a_b"


def timeline_figures() -> Iterator[Figure]:
    """Yield what a run of an hour with 100 series at 10 Hz takes."""
    with TemporaryDirectory(prefix="supertwin-bench-") as name:
        folder = Path(name)
        with VictoriaMetrics(folder / "store") as store:
            urls = {"store_read_url": store.url, "store_write_url": store.url}
            settings = Settings(home=folder, **urls)
            for one in _series():
                write_lines(settings, _lines(one))
            out, began = folder / "out", time.perf_counter()
            with out.open("wb") as file:
                file.writelines(_trace(settings).parts())
            seconds = time.perf_counter() - began
            yield _figure("time", seconds, "s")
            yield _figure("size", out.stat().st_size / 1e6, "MB")
            yield _figure("memory", _peak(_trace(settings)) / 1e6, "MB")


def _peak(trace: Trace) -> int:
    tracemalloc.start()
    for _ in trace.parts():
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def _series() -> list[RunSeries]:
    end = _START_MS + 1000 * _SECONDS
    keys = [SeriesKey(_NAME, f"i{at}") for at in range(_SERIES)]
    return [RunSeries(_RUN, "n1", _METRIC, k, True, None, _START_MS, end) for k in keys]


def _lines(series: RunSeries) -> Iterator[bytes]:
    stamps = np.arange(_START_MS, int(series.end_ms), _PERIOD_MS)
    grown = np.random.default_rng(1).integers(0, 1000, stamps.size)
    labels = {
        "__name__": _NAME,
        "hostname": "n1",
        "instname": series.key.instance or "",
    }
    return series_lines(labels, Points(stamps, np.cumsum(grown).astype(float)))


def _trace(settings: Settings) -> Trace:
    started = datetime.fromtimestamp(_START_MS / 1000, UTC)
    row: dict[str, Any] = dict.fromkeys(("outcome", "exitStatus", "policy", "threads"))
    row |= {"run": _RUN, "host": "n1", "command": "solve", "repetition": None}
    row |= {"started": started, "seconds": _SECONDS}
    return Trace(settings, [row], {_RUN: _series()})


def _figure(what: str, value: float, unit: str) -> Figure:
    return Figure(f"timeline of 1 h, 100 series at 10 Hz: {what}", value, unit)
