"""Probe facts → the graph of a host, as design.md's vocabulary has it.

Pure: the same document gives the same triples. What is not known is left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rdflib import Graph, URIRef

from ingest.conflict_resolution.claims import resolve
from ingest.conflict_resolution.precedence import RULES
from ingest.describe.claims import describe_claims, describe_resolved
from ingest.describe.devices import describe_devices
from ingest.describe.host import describe_host, describe_probe
from ingest.describe.metrics import Catalogue, describe_instances, describe_metrics
from ingest.describe.modules import describe_gpus, describe_memory_banks
from ingest.describe.pci import describe_pci
from ingest.describe.plan import describe_plan
from ingest.describe.pmu import describe_pmus
from ingest.describe.setup import describe_setup
from ingest.describe.topology import describe_topology
from ingest.schema.check import check_document
from ingest.triples import Triples, digest, union
from ontology.iris import Iris
from ontology.terms import ST

Facts = dict[str, Any]


@dataclass(frozen=True)
class Description:
    """Everything that one probe says, by named graph.

    `probe` stands in the graph of `twin`, apart because it is new with every probe.
    `held` are the metrics that are referred to and that the store's catalogue has.
    """

    host: str
    node: URIRef
    digest: str
    twin: Triples
    probe: Triples
    metrics: Triples
    pmus: dict[URIRef, Triples]
    plans: Triples
    held: frozenset[URIRef] = frozenset()

    @property
    def graphs(self) -> list[Triples]:
        return [self.twin, self.probe, self.metrics, *self.pmus.values(), self.plans]

    def union(self) -> Graph:
        """One rdflib Graph of it all, to be validated."""
        return union(self.graphs)

    def __len__(self) -> int:
        return sum(map(len, self.graphs))


def describe(
    document: Facts,
    iris: Iris,
    monitored: Iterable[str] = (),
    catalogue: Catalogue | None = None,
    known_pmus: Iterable[str] = (),
) -> Description:
    """Describe a probe document (`ingest.probe`) as RDF.

    `monitored` are the PCP metrics of the monitor plan; `catalogue` is what the store
    already holds and is not described again, a differing descriptor gets an IRI of its
    own; `known_pmus` are the PMU models whose events it holds, as little described
    again. Raises DocumentError for facts of another form than a probe's.
    """
    check_document(document)
    host, facts = document["host"], document["facts"]
    node = iris.host(host)
    twin, metrics, plans = Triples(), Triples(), Triples()
    known = describe_metrics(metrics, iris, facts.get("pcp"), catalogue or {})
    resolved = resolve(facts, RULES)
    describe_host(twin, iris, host, facts, resolved, known.values())
    components = describe_topology(twin, iris, host, facts)
    describe_resolved(twin, iris, host, resolved, ("socket", "numa", "cache"))
    describe_memory_banks(twin, iris, host, facts, resolved)
    components |= describe_devices(twin, iris, host, facts, resolved)
    components |= describe_gpus(twin, iris, host, facts)
    components |= describe_pci(twin, iris, host, facts, components)
    describe_setup(twin, iris, host, facts)
    describe_instances(twin, iris, host, facts.get("pcp"), components)
    pmus = describe_pmus(twin, iris, host, facts, set(known_pmus))
    describe_plan(plans, iris, host, facts.get("pcp"), known, monitored, components)
    probe = Triples()
    describe_probe(probe, iris, document)
    describe_claims(twin, probe, iris, document, resolved.claims)
    # Not of the catalogues, of which the less is described the more the store holds.
    digested = digest([twin, plans])
    twin.link(node, {ST.digest: digested})
    held = frozenset(known.values()) - {subject for subject, _, _ in metrics}
    return Description(host, node, digested, twin, probe, metrics, pmus, plans, held)
