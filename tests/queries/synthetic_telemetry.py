"""Writes metrics, their instances, sampling plans and PMUs of made-up hosts."""

from decimal import Decimal

from rdflib import RDF, RDFS, Dataset, Graph, Literal, URIRef

from ontology.selectors import series_name
from ontology.terms import QUDT, ST, UNIT
from tests.queries.synthetic import IRIS, add


def add_metric(
    data: Dataset,
    name: str,
    domain: str | None = None,
    *,
    semantics: str = "Counter",
    units: tuple[str, str | None] = ("count", "NUM"),
    hosts: tuple[str, ...] = (),
) -> None:
    """A metric of the shared catalogue, exposed by these hosts."""
    metric = IRIS.metric(name)
    graph = data.graph(IRIS.metrics_graph)
    add(
        graph,
        metric,
        (RDF.type, ST.Metric),
        (ST.samplerName, Literal(name)),
        (ST.dbName, Literal(series_name(name))),
        (ST.semantics, ST[semantics]),
        (ST.valueType, Literal("u64")),
        (ST.pcpUnits, Literal(units[0])),
        (ST.pmdaName, Literal("linux")),
        (RDFS.comment, Literal(f"What {name} counts")),
    )
    if units[1]:
        graph.add((metric, QUDT.hasUnit, UNIT[units[1]]))
    if domain:
        indom = IRIS.instance_domain(domain)
        graph.add((metric, ST.instanceDomain, indom))
        add(graph, indom, (RDF.type, ST.InstanceDomain), (ST.domainId, Literal(domain)))
    for host in hosts:
        data.graph(IRIS.twin_graph(host)).add((IRIS.host(host), ST.exposes, metric))


def add_instance(
    data: Dataset, host: str, domain: str, instance: str, component: URIRef
) -> None:
    """An instance of a host, with the component that it measures."""
    add(
        data.graph(IRIS.twin_graph(host)),
        IRIS.metric_instance(host, domain, instance),
        (RDF.type, ST.MetricInstance),
        (ST.inInstanceDomain, IRIS.instance_domain(domain)),
        (ST.instname, Literal(instance)),
        (ST.ofHost, IRIS.host(host)),
        (ST.ofComponent, component),
    )


def add_plan(
    data: Dataset,
    host: str,
    metric: str,
    instances: dict[str | None, URIRef],
    period: str = "1.0",
    name: str = "monitor",
) -> None:
    """A plan that samples a metric, with one telemetry node per instance."""
    graph = data.graph(IRIS.plans_graph(host))
    plan = IRIS.component(host, "plan", f"{name}.{metric}")
    add(
        graph,
        plan,
        (RDF.type, ST.SamplingPlan),
        (ST.ofHost, IRIS.host(host)),
        (ST.samples, IRIS.metric(metric)),
        (ST.period, Literal(Decimal(period))),
        (ST.planName, Literal(name)),
    )
    for instance, component in instances.items():
        node = IRIS.telemetry(host, metric, instance)
        add(
            graph,
            node,
            (RDF.type, ST.SWTelemetry),
            (ST.ofMetric, IRIS.metric(metric)),
            (ST.samplerName, Literal(metric)),
            (ST.dbName, Literal(series_name(metric))),
            (ST.ofComponent, component),
            (ST.ofHost, IRIS.host(host)),
            (ST.sampledBy, plan),
        )
        if instance is not None:
            graph.add((node, ST.instname, Literal(instance)))


def add_pmu(
    data: Dataset, pmu: str, events: list[tuple[str, str]], hosts: tuple[str, ...]
) -> None:
    """A PMU with its events; the hosts have it on all their allowed threads."""
    graph = data.graph(IRIS.pmu_graph(pmu))
    model = IRIS.pmu(pmu)
    add(
        graph,
        model,
        (RDF.type, ST.PmuModel),
        (ST.pmuName, Literal(pmu)),
        (RDFS.label, Literal(f"PMU {pmu}")),
        (ST.counterCount, Literal(8)),
        (ST.fixedCounterCount, Literal(4)),
        (ST.pmuType, Literal("core")),
    )
    for name, description in events:
        event = IRIS.pmu_event(pmu, name)
        add(
            graph,
            event,
            (RDF.type, ST.PmuEvent),
            (ST.ofPmu, model),
            (ST.pmuName, Literal(name)),
            (RDFS.comment, Literal(description)),
            (ST.eventCode, Literal("0xc0")),
        )
        if ":" in name:
            parent = IRIS.pmu_event(pmu, name.partition(":")[0])
            graph.add((event, ST.umaskOf, parent))
    for host in hosts:
        _add_pmu_of_host(data.graph(IRIS.twin_graph(host)), host, pmu)


def _add_pmu_of_host(graph: Graph, host: str, pmu: str) -> None:
    node = IRIS.component(host, "pmu", pmu)
    add(
        graph,
        node,
        (RDF.type, ST.Pmu),
        (ST.pmuName, Literal(pmu)),
        (ST.pmuModel, IRIS.pmu(pmu)),
        (ST.isPartOf, IRIS.host(host)),
    )
    for thread in list(graph.subjects(ST.allowed, Literal(True))):
        graph.add((node, ST.counts, thread))
