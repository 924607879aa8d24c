"""The monitor plan of a host, and the telemetry that it samples."""

from collections.abc import Iterable, Mapping
from typing import Any

from rdflib import URIRef

from ingest.describe.metrics import component_of
from ingest.triples import Triples
from ontology.iris import Iris, series_name
from ontology.terms import ST

MONITOR = "monitor"
MONITOR_PERIOD = 1.0


def describe_plan(
    triples: Triples,
    iris: Iris,
    host: str,
    pcp: dict[str, Any] | None,
    metrics: Mapping[str, URIRef],
    monitored: Iterable[str],
    components: Mapping[str, URIRef],
) -> None:
    """One plan node for each monitored metric that the host exposes."""
    domains = {
        metric["name"]: metric["indom"] for metric in (pcp or {}).get("metrics", [])
    }
    for name in monitored:
        if name in metrics:
            plan = _plan(triples, iris, host, name, metrics[name])
            for instance in _instances(pcp or {}, domains[name]):
                _telemetry(
                    triples, iris, host, name, instance, metrics[name], plan, components
                )


def _plan(triples: Triples, iris: Iris, host: str, name: str, metric: URIRef) -> URIRef:
    return triples.node(
        iris.component(host, "plan", f"{MONITOR}.{name}"),
        ST.SamplingPlan,
        {
            ST.planName: MONITOR,
            ST.ofHost: iris.host(host),
            ST.samples: metric,
            ST.period: MONITOR_PERIOD,
        },
    )


def _instances(pcp: dict[str, Any], domain: str | None) -> list[str | None]:
    """Instance names of a domain; of one resolved at each fetch, none."""
    if domain is None:
        return [None]
    entry = pcp["indoms"].get(domain) or {"instances": []}
    return [name for name, _ in entry["instances"]]


def _telemetry(
    triples: Triples,
    iris: Iris,
    host: str,
    name: str,
    instance: str | None,
    metric: URIRef,
    plan: URIRef,
    components: Mapping[str, URIRef],
) -> None:
    node = iris.host(host)
    triples.node(
        iris.telemetry(host, name, instance),
        ST.SWTelemetry,
        {
            ST.ofMetric: metric,
            ST.samplerName: name,
            ST.dbName: series_name(name),
            ST.instname: instance,
            ST.ofComponent: component_of(instance or "", components, node),
            ST.ofHost: node,
            ST.sampledBy: plan,
        },
    )
