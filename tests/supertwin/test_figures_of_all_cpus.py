"""A run's figures for a metric that adds up over all CPUs, computed from the stores."""

import time
from pathlib import Path

import httpx
import pytest

from core.settings.settings import Settings
from observations.record import Run, RunRequest, RunSpec
from observations.session.counter_snapshots import CounterSnapshot, RunSnapshots
from observations.session.run_sampling import RunSampling
from observations.statistics import Span
from tests.queries.cases import FOLDER
from tests.servers import Fuseki, VictoriaMetrics

SECONDS, LATE = 8, 4


def test_time_of_all_cpus_is_at_most_their_number(
    emptied_fuseki: Fuseki, tmp_path: Path
) -> None:
    """Two CPUs are busy; one tick was fetched 200 ms late."""
    host = (FOLDER / "hosts/all-cpus.trig").read_bytes()
    headers = {"Content-Type": "application/trig"}
    url = f"{emptied_fuseki.url}/twin/data"
    httpx.post(url, content=host, headers=headers).raise_for_status()
    start = int(time.time()) - 60
    with VictoriaMetrics(tmp_path / "store") as store:
        _write(store.url, start)
        settings = Settings(
            home=tmp_path / "home",
            fuseki_url=emptied_fuseki.url,
            store_read_url=store.url,
        )
        span = Span(1000.0 * start, 1000.0 * (start + SECONDS))
        spec = RunSpec("n1", ("x",), metrics=("kernel.all.cpu.user",))
        sampling = RunSampling(settings, RunRequest(spec), "monitor")
        no_snapshots = RunSnapshots(CounterSnapshot(), CounterSnapshot())
        (found,) = sampling.summaries(Run({}, span), no_snapshots, set())
    assert found.metric == "kernel.all.cpu.user"
    assert (found.figures.maximum, found.figures.bounded) == (2000, 1)
    assert found.figures.mean == pytest.approx(2000)


def _write(url: str, start: int) -> None:
    lines = [
        f'kernel_all_cpu_user{{hostname="n1"}} {2000 * at + 400 * (at == LATE)} '
        f"{1000 * (start + at)}"
        for at in range(SECONDS + 1)
    ]
    body = "\n".join(lines)
    httpx.post(f"{url}/api/v1/import/prometheus", content=body).raise_for_status()
    httpx.get(f"{url}/internal/force_flush").raise_for_status()
