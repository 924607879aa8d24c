"""Describe a host's plans and the series that they sample, first the monitor plan."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rdflib import URIRef

from ingest.describe.metrics import component_of
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.selectors import series_name
from ontology.terms import ST

if TYPE_CHECKING:
    from ingest.schema.schema import Pcp

MONITOR = "monitor"
MONITOR_PERIOD = 1.0
# PCP's agent of PMU events names its counters with this prefix.
COUNTER_PREFIX = "perfevent.hwcounters."


class CountedEvent(NamedTuple):
    """The PMU event behind a metric: its name, and its IRI if the catalogue has it."""

    name: str
    iri: URIRef | None = None


def describe_plan(
    triples: Triples,
    iris: Iris,
    host: str,
    pcp: "Pcp | None",
    metrics: Mapping[str, URIRef],
    monitored: Iterable[str],
    components: Mapping[str, URIRef],
) -> None:
    """Describe one plan node for each monitored metric that the host exposes."""
    if pcp is None:
        return
    domains = {metric.name: metric.indom for metric in pcp.metrics}
    node = iris.host(host)
    for name in monitored:
        if name in metrics:
            instances = {
                instance: component_of(instance or "", components, node)
                for instance in _instances(pcp, domains[name])
            }
            describe_sampling(
                triples,
                iris,
                host,
                MONITOR,
                MONITOR_PERIOD,
                name,
                metrics[name],
                instances,
            )


def describe_sampling(
    triples: Triples,
    iris: Iris,
    host: str,
    plan_name: str,
    period: float,
    name: str,
    metric: URIRef,
    instances: Mapping[Any, URIRef],
    event: CountedEvent | None = None,
) -> URIRef:
    """Describe one metric of a plan at a period (seconds), and its series.

    `instances` maps the instances that the graph knows to components; None is the
    instance of a metric without instances. Series of a PMU `event` are hardware
    telemetry. Returns the plan node.
    """
    plan = triples.node(
        iris.component(host, "plan", f"{plan_name}.{name}"),
        ST.SamplingPlan,
        {
            ST.planName: plan_name,
            ST.ofHost: iris.host(host),
            ST.samples: metric,
            ST.period: period,
        },
    )
    kind = ST.HWTelemetry if event else ST.SWTelemetry
    for instance, component in instances.items():
        triples.node(
            iris.telemetry(host, name, instance),
            kind,
            {
                ST.ofMetric: metric,
                ST.samplerName: name,
                ST.dbName: series_name(name),
                ST.instname: instance,
                ST.ofComponent: component,
                ST.ofHost: iris.host(host),
                ST.sampledBy: plan,
                ST.pmuName: event and event.name,
                ST.ofEvent: event and event.iri,
            },
        )
    return plan


def _instances(pcp: "Pcp", domain: str | None) -> list[str | None]:
    """Instance names of a domain; none if it is resolved at each fetch."""
    if domain is None:
        return [None]
    entry = pcp.indoms.get(domain)
    return [name for name, _ in entry.instances] if entry else []
