"""Fuseki with a small twin, and the series store that its extension reads."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ontology.selectors import series_name
from sampling.sources.own_metrics import PREFIX
from tests.api import graph
from tests.fuseki.samples import Samples
from tests.servers import Fuseki, VictoriaMetrics

SECONDS = 600
EXPECTED, MISSING = (
    series_name(f"{PREFIX}points.{name}") for name in ("expected", "missing")
)


def points(start: int) -> Iterator[str]:
    """Ten minutes of samples; free memory and cpu1 have gaps, of 100 s and 50 s."""
    for i in range(1, SECONDS + 1):
        ms = (start + i) * 1000
        for cpu in (0,) if 400 < i <= 450 else (0, 1):
            labels = f'hostname="n1",instname="cpu{cpu}"'
            yield f"kernel_percpu_cpu_user{{{labels}}} {10 * i + cpu} {ms}\n"
        if not 100 < i <= 200:
            yield f'mem_util_free{{hostname="n1"}} {i + 0.5} {ms}\n'
        yield f'proc_psinfo_utime{{hostname="n1",instname="1 in\\"it"}} {i} {ms}\n'
        yield f'{EXPECTED}{{hostname="n1"}} {5 * i} {ms}\n'
        late = min(max(i - 400, 0), 50)
        labels = 'hostname="n1",instname="late"'
        yield f"{MISSING}{{{labels}}} {late} {ms}\n"
        release = "6.1.0" if i <= 300 else "6.2.0"
        yield f'kernel_uname_release{{hostname="n1",value="{release}"}} 1 {ms}\n'


@pytest.fixture(scope="session")
def start() -> int:
    """Return the second before the first sample, a full minute."""
    return int(time.time()) // 60 * 60 - 1200


@pytest.fixture(scope="session")
def series_store(
    tmp_path_factory: pytest.TempPathFactory, start: int
) -> Iterator[VictoriaMetrics]:
    with VictoriaMetrics(tmp_path_factory.mktemp("store")) as server:
        url = f"{server.url}/api/v1/import/prometheus"
        httpx.post(url, content="".join(points(start))).raise_for_status()
        httpx.get(f"{server.url}/internal/force_flush").raise_for_status()
        yield server


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory, series_store: VictoriaMetrics
) -> Iterator[Fuseki]:
    folder: Path = tmp_path_factory.mktemp("fuseki")
    with Fuseki(folder, series_store.url) as server:
        sent = httpx.post(f"{server.url}/twin/update", data={"update": graph.TWIN})
        assert sent.is_success, sent.text
        yield server


@pytest.fixture(scope="session")
def samples(server: Fuseki, start: int) -> Samples:
    return Samples(f"{server.url}/twin", start)
