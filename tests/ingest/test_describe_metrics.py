"""The metrics of a host, their instances, and the plan that samples them."""

from typing import Any

from rdflib import RDF, Literal

from ingest.describe.metrics import MetricSignature
from ingest.description import Description
from ingest.hwloc.read import parse_hwloc
from ingest.schema.schema import Pcp
from ontology.terms import QUDT, ST, UNIT
from tests.ingest.documents import IRIS, PCP, describe_json, document, synthetic


def two_threads(**facts: Any) -> Description:
    topology = parse_hwloc(synthetic("pack:1 l2:1 core:1 pu:2"))
    return describe_json(
        document({"hwloc": topology, "pcp": PCP, **facts}),
        IRIS,
        [metric["name"] for metric in PCP["metrics"]],
    )


def test_instance_is_linked_to_the_thread_it_names() -> None:
    graph = two_threads().union()
    instance = IRIS.metric_instance("n1", "60.0", "cpu1")
    assert graph.value(instance, ST.ofComponent) == IRIS.component("n1", "thread", "1")


def test_process_domains_are_named_but_not_stored() -> None:
    description = two_threads()
    graph = description.union()
    assert list(graph.objects(None, ST.resolvesAtFetch)) == [
        IRIS.instance_domain("3.9")
    ]
    assert not list(graph.subjects(ST.inInstanceDomain, IRIS.instance_domain("3.9")))


def test_plan_and_its_telemetry_are_described() -> None:
    graph = two_threads().plans.graph()
    assert len(set(graph.subjects(RDF.type, ST.SamplingPlan))) == 3
    one = IRIS.telemetry("n1", "kernel.percpu.cpu.user", "cpu1")
    assert graph.value(one, ST.instname) == Literal("cpu1")
    whole = IRIS.telemetry("n1", "mem.util.free", None)
    assert str(whole).endswith("/telemetry/mem.util.free/~")
    assert graph.value(whole, ST.instname) is None
    assert graph.value(whole, ST.ofComponent) == IRIS.host("n1")


def test_metric_has_units_and_semantics() -> None:
    graph = two_threads().metrics.graph()
    metric = IRIS.metric("mem.util.free")
    assert graph.value(metric, QUDT.hasUnit) == UNIT.KibiBYTE
    assert graph.value(metric, ST.semantics) == ST.Instant
    assert graph.value(metric, ST.dbName) == Literal("mem_util_free")


def test_differing_descriptor_gets_its_own_iri() -> None:
    same = two_threads()
    known = {m: d._replace(units="byte") for m, d in _descriptors().items()}
    other = describe_json(document({"pcp": PCP}), IRIS, [], known)
    names = {str(s) for s, _, o in other.metrics if o == ST.Metric}
    assert not names & {str(s) for s, _, o in same.metrics if o == ST.Metric}
    assert all("~~" in name for name in names)
    assert (
        len(describe_json(document({"pcp": PCP}), IRIS, [], _descriptors()).metrics) > 0
    )


def _descriptors() -> dict[str, Any]:
    metrics = Pcp.model_validate(PCP).metrics
    return {metric.name: MetricSignature.of(metric) for metric in metrics}


def test_metric_with_unknown_semantics_is_omitted() -> None:
    odd = {**PCP["metrics"][0], "name": "odd.metric", "semantics": "unknown"}
    pcp = {**PCP, "metrics": [*PCP["metrics"], odd]}
    graph = describe_json(document({"pcp": pcp}), IRIS, ["odd.metric"]).union()
    assert len(set(graph.subjects(RDF.type, ST.Metric))) == 3
    assert not list(graph.subjects(RDF.type, ST.SamplingPlan))


def test_kernel_counters_are_counters_despite_pcp() -> None:
    instant = {**PCP["metrics"][0], "semantics": "instant"}
    names = ["proc.psinfo.nvctxsw", "proc.psinfo.rss"]
    pcp = {**PCP, "metrics": [{**instant, "name": name} for name in names]}
    graph = describe_json(document({"pcp": pcp}), IRIS, []).metrics.graph()
    found = [graph.value(IRIS.metric(name), ST.semantics) for name in names]
    assert found == [ST.Counter, ST.Instant]
