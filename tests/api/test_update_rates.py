"""Charts of runs whose counters are sampled faster than a source updates them."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from api.metrics import metric_of
from api.observations.measured import RunSpan
from api.observations.readings import Column, grid_of, read, step_of
from api.services import Services
from core.stores.connections import Connections
from core.stores.series_store import SeriesStore
from tests.api.test_bounded_rates import row
from tests.servers import VictoriaMetrics

METRIC, NAME = "kernel.percpu.cpu.user", "kernel_percpu_cpu_user"
RUN_MS = 1000
# When an update every 10 ms is seen: every other one is a millisecond early.
SEEN = [10 * n - n % 2 for n in range(RUN_MS // 10 + 1)]


@pytest.mark.parametrize(
    ("resolution", "step"), [(None, 1), (0.01, 10), (0.0015, 2), (2.0, 2000)]
)
def test_step_is_at_least_one_update_long(resolution: float | None, step: int) -> None:
    assert step_of(1, 1.0, 2000, resolution) == step
    assert step_of(1, 40_000, 2000, 0.01) == 20_000


def test_busy_cpu_stays_busy_with_jittering_updates(tmp_path: Path) -> None:
    start = int(time.time() - 100) * 1000
    updates = [(start + seen, 10 * n) for n, seen in enumerate(SEEN)]
    with VictoriaMetrics(tmp_path / "store") as store:
        _write(store.url, start, updates)
        found = asyncio.run(_drawn(store.url, start))
    for cpu in found:
        known = [value for value in cpu if value is not None]
        assert len(known) >= len(SEEN) - 3
    busy, idle = found
    assert all(0.9 < value < 1.2 for value in busy if value is not None)
    assert {value for value in idle if value is not None} == {0}


def _write(url: str, start: int, updates: Sequence[tuple[int, int]]) -> None:
    lines = []
    for tick in range(start, start + RUN_MS + 1):
        counted = max(value for at, value in updates if at <= tick)
        for cpu, value in (("cpu0", counted), ("cpu1", 70)):
            labels = f'{{hostname="n1",instname="{cpu}"}}'
            lines.append(f"{NAME}{labels} {value} {tick}")
    body = "\n".join(lines)
    httpx.post(f"{url}/api/v1/import/prometheus", content=body).raise_for_status()
    httpx.get(f"{url}/internal/force_flush").raise_for_status()


async def _drawn(url: str, start: int) -> list[Column]:
    span = RunSpan("n1", start + 0.4, start + RUN_MS + 0.4, 1)
    metric = metric_of(row(METRIC, "millisec"))
    grid = grid_of(span, -0.001, 1.001, 2000, 0.01)
    async with Connections() as client:
        services: Any = SimpleNamespace(
            store=SeriesStore(client, url, "1y"),
            settings=SimpleNamespace(query_timeout=60.0),
        )
        cpus = ("cpu0", "cpu1")
        return await read(cast(Services, services), span, metric, cpus, grid, 0.01)
