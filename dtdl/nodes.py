"""The triples of a twin by subject, and the Interface of each node.

A node with a twin of its own is an Interface. Any other node is a content of one:
telemetry of its component, a metric of its instance domain, an event of its PMU model.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from rdflib import RDF, Literal, URIRef

from dtdl.errors import NotExportableError
from ontology.terms import ST

Object = URIRef | Literal
Triple = tuple[URIRef, URIRef, Object]
Facts = Mapping[URIRef, list[Object]]

# The property from a node to the Interface that contains it.
HOMES = {
    ST.SWTelemetry: ST.ofComponent,
    ST.HWTelemetry: ST.ofComponent,
    ST.MetricInstance: ST.ofComponent,
    ST.Metric: ST.instanceDomain,
    ST.PmuEvent: ST.ofPmu,
    ST.BenchmarkResult: ST.ofBenchmark,
    ST.NumaDistance: ST.fromDomain,
}


class Nodes:
    """Every node of a twin with its facts, in a deterministic order."""

    def __init__(self, triples: Iterable[Triple], host: URIRef, base: str) -> None:
        self.host, self.base = host, base
        # Not a node, but an Interface: the metrics without an instance domain.
        self.catalogue = URIRef(f"{base}/metric")
        found: dict[URIRef, dict[URIRef, list[Object]]] = {}
        for s, p, o in sorted(set(triples), key=_order):
            if not isinstance(s, URIRef):
                raise NotExportableError(f"{s} is a blank node: give it an IRI")
            found.setdefault(s, defaultdict(list))[p].append(o)
        self.facts: Mapping[URIRef, Facts] = found
        self._exposes = frozenset(found.get(host, {}).get(ST.exposes, ()))
        homes = {s: home for s in found if (home := self._home(s))}
        # Only an Interface can contain a content.
        self._homes: Mapping[Object, URIRef] = {
            s: home for s, home in homes.items() if home not in homes
        }
        self._contents: dict[URIRef, list[URIRef]] = defaultdict(list)
        for node in found:
            if node in self._homes:
                self._contents[self._homes[node]].append(node)

    def interfaces(self) -> Iterator[URIRef]:
        """Every node that is an Interface, the host first."""
        yield self.host
        if self.catalogue in self._contents and self.catalogue not in self.facts:
            yield self.catalogue
        for node in self.facts:
            if node not in self._homes and node != self.host:
                yield node

    def contents(self, interface: URIRef) -> list[URIRef]:
        """The nodes that are contents of an Interface."""
        return self._contents.get(interface, [])

    def is_interface(self, term: Object) -> bool:
        """Whether a term is a node that is an Interface."""
        return term in self.facts and term not in self._homes

    def classes(self, node: URIRef) -> list[Object]:
        """The classes of a node."""
        return self.facts.get(node, {}).get(RDF.type, [])

    def value(self, node: Object, property_: URIRef) -> Object | None:
        """One value of a property of a node; None without any."""
        facts = self.facts.get(node, {}) if isinstance(node, URIRef) else {}
        return next(iter(facts.get(property_, ())), None)

    def home_property(self, node: URIRef) -> URIRef | None:
        """The property implied by a content's place; None for an Interface."""
        if self._homes.get(node, self.catalogue) == self.catalogue:
            return None
        kinds = (c for c in self.classes(node) if isinstance(c, URIRef))
        return next(HOMES[c] for c in kinds if c in HOMES)

    def is_metric(self, term: Object) -> bool:
        """Whether a term is a metric that is a content."""
        return term in self._homes and ST.Metric in self.classes(URIRef(term))

    def is_exposed(self, node: URIRef) -> bool:
        """Whether the host exposes a metric."""
        return node in self._exposes

    def _home(self, node: URIRef) -> URIRef | None:
        """The Interface that could contain a node."""
        for class_ in self.classes(node):
            if isinstance(class_, URIRef) and class_ in HOMES:
                homes = self.facts[node].get(HOMES[class_], [])
                if class_ == ST.Metric and not homes:
                    return self.catalogue
                home = homes[0] if len(homes) == 1 else None
                if isinstance(home, URIRef) and home in self.facts:
                    return home
        return None


def _order(triple: Triple) -> str:
    """One plain text as sort key: comparing rdflib's terms is slow."""
    s, p, o = triple
    if isinstance(o, Literal):
        return f"{s}\0{p}\0001{o}\0{o.datatype}\0{o.language}"
    return f"{s}\0{p}\0000{o}"
