"""The Fuseki that the tests of this folder share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from ingest.hwloc.read import parse_hwloc, read_file
from ingest.pmu.store import publish_roles, stored_models
from ingest.probe import hwloc_document
from ontology.iris import Iris
from tests.ingest.documents import describe_json
from tests.servers import Fuseki

MACHINES = Path(__file__).parents[3] / "shared" / "machines" / "hwloc"
IRIS = Iris("http://localhost:8000")
FILES = {"zen": "AMD-19h-Zen4-2xEpyc-9654.xml", "sky": "Intel-Skylake-2xXeon6140.xml"}


@pytest.fixture
def endpoint(fuseki: Fuseki) -> Iterator[Endpoint]:
    """The dataset ``twin`` of the running Fuseki, emptied."""
    with Endpoint(f"{fuseki.url}/twin") as twin:
        twin.update("DROP ALL")
        yield twin


@pytest.fixture
def machines(endpoint: Endpoint) -> Endpoint:
    """A store with the roles, a Zen 4 and a Skylake-X."""
    if not MACHINES.is_dir():
        pytest.skip(f"{MACHINES} is not there: no machine to describe")
    assert publish_roles(endpoint, IRIS)
    for host, file in FILES.items():
        document = hwloc_document(host, parse_hwloc(read_file(MACHINES / file)))
        described = describe_json(document, IRIS, known_pmus=stored_models(endpoint))
        graphs = {IRIS.twin_graph(host): described.twin, **described.pmus}
        for graph, triples in graphs.items():
            endpoint.put_graph(str(graph), triples.graph())
    return endpoint
