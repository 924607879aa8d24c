"""Plans of threads in a real graph store."""

import pytest

from ingest.description import describe
from ingest.hwloc.read import parse_hwloc
from ingest.load.publish import TwinStores, publish
from ingest.schema.check import check_document
from ontology.iris import stated
from sampling.monitoring import with_bridge
from sampling.plan_file.choice import InstanceSelection
from sampling.plan_file.graph_plan import read_plan
from sampling.plans.request import PlanRequest
from sampling.plans.store import add_plan
from sampling.sources.thread_metrics import PREFIX, THREAD_METRICS
from shapes.validate import validate
from tests.ingest.documents import IRIS, PCP, document, synthetic

HOST = "n1"
PROCESS = "001234 ./app"
METRICS = tuple(one.name for one in THREAD_METRICS)


@pytest.fixture
def twin(store: TwinStores) -> TwinStores:
    """A host whose threads can be sampled."""
    hwloc = parse_hwloc(synthetic("pack:1 core:2 pu:1"))
    read = check_document(document({"pcp": PCP, "hwloc": hwloc}, HOST))
    publish(describe(with_bridge(read), IRIS, []), store, IRIS)
    return store


def test_plan_names_a_process_for_its_threads(twin: TwinStores) -> None:
    add_plan(
        PlanRequest(HOST, "app", METRICS, 10, instances=(PROCESS,)), twin.twin, IRIS
    )
    plan = read_plan(twin.twin, HOST)
    assert plan.refused == {}
    group = plan.groups()[10]
    assert {*group.names} == {*METRICS}
    assert group.only == {PROCESS}
    only = InstanceSelection(frozenset({PROCESS}))
    assert group.choices == dict.fromkeys(METRICS, only)
    assert only.has(f"{PROCESS}:tid=1240")
    assert not only.has("001235 ./app:tid=1235")


def test_metrics_of_threads_are_valid_descriptions(twin: TwinStores) -> None:
    graph = twin.twin.construct(f"CONSTRUCT {{ ?s ?p ?o }} {{ {stated('?s ?p ?o')} }}")
    lines = [line for line in validate(graph).lines if PREFIX in line or "515" in line]
    assert not lines


def test_host_that_the_bridge_cannot_see_has_none() -> None:
    read = check_document(document({"pcp": PCP}, HOST))
    pcp = with_bridge(read, near=False).facts.pcp
    assert pcp is not None
    assert not [one.name for one in pcp.metrics if one.name.startswith(PREFIX)]
