"""Probes in the graph store, as the saved query lists them."""

from dataclasses import replace

import pytest

from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from queries.catalogue import saved_query
from sampling.probes.definition import CodeProbe, parse_target
from sampling.probes.graph import probe_iri, publish
from tests.servers import Fuseki

IRIS = Iris("http://localhost:8000")
SEND = CodeProbe(
    "send",
    parse_target("uprobe:/usr/lib/a b.so:MPI_Send"),
    times=True,
    build_id="8f0c",
    by="thread",
    argument="2",
)
NODE = "PREFIX st: <https://w3id.org/supertwin/ns#> INSERT DATA { GRAPH <urn:g> {"


@pytest.fixture
def twin(fuseki: Fuseki) -> Endpoint:
    fuseki.empty()
    endpoint = Endpoint(f"{fuseki.url}/twin")
    node = f'<{IRIS.host("n1")}> a st:ComputeNode ; st:hostname "n1"'
    endpoint.update(f"{NODE} {node} }} }}")
    return endpoint


def listed(twin: Endpoint) -> list[list[object]]:
    return twin.select(saved_query("process/probes").bind({"host": "n1"})).values()


def test_probes_are_replaced_and_removed(twin: Endpoint) -> None:
    with twin:
        publish(twin, IRIS, "n1", [SEND])
        iri = str(probe_iri(IRIS, "n1", "send"))
        row = [
            "n1",
            "send",
            "latency",
            "thread",
            "2",
            str(SEND.begin),
            None,
            "8f0c",
            iri,
        ]
        assert listed(twin) == [row]
        changed = replace(SEND, times=False)
        publish(twin, IRIS, "n1", [changed, replace(SEND, name="other")])
        assert [found[1:3] for found in listed(twin)] == [
            ["other", "latency"],
            ["send", "calls"],
        ]
        publish(twin, IRIS, "n1", [])
        assert listed(twin) == []
