"""Turn probe facts into the graph of a host, in the vocabulary of design.md.

Pure: the same document gives the same triples. Unknown values are left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass

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
from ingest.schema.schema import ProbeDocument
from ingest.triples import Triples, digest, union
from ontology.iris import Iris
from ontology.terms import ST


@dataclass(frozen=True)
class Description:
    """All triples of one probe, by named graph.

    `probe` belongs to the graph of `twin` but is kept separate, since every probe
    changes it. `held` are the referenced metrics that the store's catalogue already
    has.
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
        """Return one rdflib Graph of all, for validation."""
        return union(self.graphs)

    def __len__(self) -> int:
        return sum(map(len, self.graphs))


def describe(
    document: ProbeDocument,
    iris: Iris,
    monitored: Iterable[str] = (),
    catalogue: Catalogue | None = None,
    known_pmus: Iterable[str] = (),
) -> Description:
    """Describe a probe document (`ingest.probe`) as RDF.

    `monitored` are the PCP metrics of the monitor plan. `catalogue` holds the metrics
    in the store: they are not described again, but a differing descriptor gets its own
    IRI. The store already has the events of `known_pmus`; these are not described
    again.
    """
    host, facts = document.host, document.facts
    node = iris.host(host)
    twin, metrics, plans = Triples(), Triples(), Triples()
    known = describe_metrics(metrics, iris, facts.pcp, catalogue or {})
    resolved = resolve(facts, RULES)
    describe_host(twin, iris, host, facts, resolved, known.values())
    components = describe_topology(twin, iris, host, facts)
    describe_resolved(twin, iris, host, resolved, ("socket", "numa", "cache"))
    describe_memory_banks(twin, iris, host, facts, resolved)
    components |= describe_devices(twin, iris, host, facts, resolved)
    components |= describe_gpus(twin, iris, host, facts)
    components |= describe_pci(twin, iris, host, facts, components)
    describe_setup(twin, iris, host, facts)
    describe_instances(twin, iris, host, facts.pcp, components)
    pmus = describe_pmus(twin, iris, host, facts, set(known_pmus))
    describe_plan(plans, iris, host, facts.pcp, known, monitored, components)
    probe = Triples()
    describe_probe(probe, iris, document)
    describe_claims(twin, probe, iris, document, resolved.claims)
    # Without the catalogues: what is described of them depends on the store.
    digested = digest([twin, plans])
    twin.link(node, {ST.digest: digested})
    held = frozenset(known.values()) - {subject for subject, _, _ in metrics}
    return Description(host, node, digested, twin, probe, metrics, pmus, plans, held)
