"""Describe the catalogue of PCP metrics, and a host's instances of their domains."""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rdflib import RDFS, URIRef

from ingest.triples import Triples
from ontology.iris import Iris
from ontology.selectors import series_name
from ontology.terms import QUDT, ST
from ontology.units import qudt_unit

if TYPE_CHECKING:
    from ingest.schema.schema import Pcp, ProbedMetric

SEMANTICS = {
    "counter": ST.Counter,
    "instant": ST.Instant,
    "discrete": ST.Discrete,
}
# Counters of the kernel that PCP 6 calls instant: Documentation/filesystems/proc.rst,
# table 1-2. As counters, they have totals and rates.
_COUNTED = frozenset(
    f"{group}.psinfo.{name}"
    for group in ("proc", "hotproc")
    for name in ("vctxsw", "nvctxsw")
)


class MetricSignature(NamedTuple):
    """The properties that tell two metrics of the same name apart."""

    value_type: str
    semantics: str
    units: str
    domain: str | None

    @classmethod
    def of(cls, metric: "ProbedMetric") -> "MetricSignature":
        return cls(metric.type, semantics(metric), metric.units, metric.indom)


Catalogue = Mapping[str, MetricSignature]


def describe_metrics(
    triples: Triples, iris: Iris, pcp: "Pcp | None", catalogue: Catalogue
) -> dict[str, URIRef]:
    """Describe the metrics that `catalogue` lacks; return the IRIs of all by name."""
    if not pcp:
        return {}
    domains = {metric.indom for metric in pcp.metrics if metric.indom}
    for domain in sorted(domains):
        triples.node(
            iris.instance_domain(domain), ST.InstanceDomain, {ST.domainId: domain}
        )
    return {
        metric.name: _metric(triples, iris, metric, pcp.pmdas, catalogue)
        for metric in pcp.metrics
        # a newer PCP may have semantics that no reader here knows
        if metric.semantics in SEMANTICS
    }


def describe_instances(
    triples: Triples,
    iris: Iris,
    host: str,
    pcp: "Pcp | None",
    components: Mapping[str, URIRef],
) -> None:
    """Describe a host's instances of each domain, and the component of each.

    A domain is only named if its instances come and go with processes: they are
    resolved at each fetch.
    """
    node = iris.host(host)
    for domain, entry in pcp.indoms.items() if pcp else ():
        domain_iri = iris.instance_domain(domain)
        if not entry.stored:
            triples.link(node, {ST.resolvesAtFetch: domain_iri})
        for name, _ in entry.instances:
            triples.node(
                iris.metric_instance(host, domain, name),
                ST.MetricInstance,
                {
                    ST.inInstanceDomain: domain_iri,
                    ST.instname: name,
                    ST.ofHost: node,
                    ST.ofComponent: component_of(name, components, node),
                },
            )


def component_of(
    instance: str, components: Mapping[str, URIRef], node: URIRef
) -> URIRef:
    """The component that an instance name refers to; by default the host."""
    return components.get(instance.removeprefix("/dev/"), node)


def semantics(metric: "ProbedMetric") -> str:
    """A metric's semantics; the kernel's where PCP's are wrong."""
    return "counter" if metric.name in _COUNTED else metric.semantics


def _metric(
    triples: Triples,
    iris: Iris,
    metric: "ProbedMetric",
    pmdas: Mapping[str, str],
    catalogue: Catalogue,
) -> URIRef:
    domain, iri = metric.indom, _metric_iri(iris, metric, catalogue)
    if metric.name in catalogue and iri == iris.metric(metric.name):
        return iri
    return triples.node(
        iri,
        ST.Metric,
        {
            ST.samplerName: metric.name,
            ST.dbName: series_name(metric.name),
            ST.semantics: SEMANTICS[semantics(metric)],
            ST.valueType: metric.type,
            ST.pcpUnits: metric.units,
            QUDT.hasUnit: qudt_unit(metric.units),
            RDFS.comment: metric.help,
            ST.pmdaName: pmdas.get(metric.pmid.split(".")[0]),
            ST.instanceDomain: iris.instance_domain(domain) if domain else None,
        },
    )


def _metric_iri(iris: Iris, metric: "ProbedMetric", catalogue: Catalogue) -> URIRef:
    name, descriptor = metric.name, MetricSignature.of(metric)
    if catalogue.get(name, descriptor) == descriptor:
        return iris.metric(name)
    return variant_iri(iris, name, descriptor)


def variant_iri(iris: Iris, name: str, descriptor: MetricSignature) -> URIRef:
    """The IRI of a metric that differs from the catalogue's metric of that name."""
    text = "\n".join(map(str, descriptor))
    return iris.metric(name, hashlib.sha256(text.encode()).hexdigest()[:8])
