"""The results of earlier tries, as later checks keep them."""

from collections.abc import Iterator

import pytest

from core.stores.endpoint import Endpoint
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import ST
from sampling.agents.checking import _with_tried
from sampling.agents.checks import NO_KPROBES
from sampling.agents.graph import publish_checks
from sampling.agents.known import KNOWN
from tests.servers import Fuseki

IRIS = Iris("http://localhost:8000")
MODULES = [module.name for module in KNOWN["bpf"].modules]


@pytest.fixture
def twin(emptied_fuseki: Fuseki) -> Iterator[Endpoint]:
    with Endpoint(f"{emptied_fuseki.url}/twin") as twin:
        node = Triples()
        node.node(IRIS.host("n1"), ST.ComputeNode, {ST.hostname: "n1"})
        twin.update(insertion({IRIS.twin_graph("n1"): node}))
        yield twin


def kept(twin: Endpoint, before: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    """The reasons after a try with some reasons and a check with others."""
    none = dict.fromkeys(MODULES, "")
    tried = {"bpf": {"reason": "", "modules": none | before}}
    publish_checks("n1", tried, twin, IRIS)
    found = {"bpf": {"reason": "", "modules": none | now}}
    modules = _with_tried(found, "n1", twin)["bpf"]["modules"]
    return {name: why for name, why in modules.items() if why}


def test_reason_of_a_try_is_kept_until_the_next_try(twin: Endpoint) -> None:
    refused = {"tcpconnlat": "the kernel refuses its program x: no"}
    assert kept(twin, refused, {}) == refused
    assert kept(twin, refused, {"tcpconnlat": "new"}) == {"tcpconnlat": "new"}


def test_reason_that_needs_no_try_is_not_kept(twin: Endpoint) -> None:
    """An agent that was installed since then can run."""
    assert kept(twin, dict.fromkeys(MODULES, "it is not installed"), {}) == {}
    assert kept(twin, {"oomkill": NO_KPROBES}, {}) == {}
