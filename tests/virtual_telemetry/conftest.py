"""Fuseki and a series store with inputs of several units and periods."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from ontology.load import ontology_graph
from tests.servers import Fuseki, VictoriaMetrics
from tests.virtual_telemetry.world import BASE, TWIN, World, points


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Start both stores, with twenty minutes of samples that ended a while ago."""
    folder: Path = tmp_path_factory.mktemp("world")
    start = int(time.time()) // 60 * 60 - 2400
    with (
        VictoriaMetrics(folder / "store") as store,
        Fuseki(folder / "fuseki", store.url) as fuseki,
    ):
        url = f"{store.url}/api/v1/import/prometheus"
        httpx.post(url, content="".join(points(start))).raise_for_status()
        httpx.get(f"{store.url}/internal/force_flush").raise_for_status()
        sent = httpx.post(f"{fuseki.url}/twin/update", data={"update": TWIN})
        assert sent.is_success, sent.text
        with Endpoint(f"{fuseki.url}/twin") as twin:
            twin.put_graph(str(Iris(BASE).ontology_graph), ontology_graph())
        settings = Settings(
            home=folder / "home",
            base=BASE,
            fuseki_url=fuseki.url,
            store_read_url=store.url,
        )
        yield World(settings, fuseki.url, store.url, start)
