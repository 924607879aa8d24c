"""Check triples against the shapes before they are added to a graph store."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from rdflib import RDF, Graph, URIRef
from rdflib.term import Node

from core.stores.endpoint import Endpoint
from ingest.triples import Triples
from ontology.iris import stated
from shapes.validate import ExternalNodes, validate
from shapes.wording import short


def first_fault(
    triples: Triples,
    twin: Endpoint,
    of: str = "",
    known: Mapping[URIRef, URIRef | None] = MappingProxyType({}),
) -> str:
    """Return the first fault of new triples in one line; empty if there is none.

    The nodes that they refer to are already in the store and were validated before, so
    only their classes are read. Faults are reported only of the new nodes, and only if
    their IRIs begin with ``of``. ``known`` maps nodes to classes that need not be read;
    None if no shape asks for the class.
    """
    own = {subject for subject, _, _ in triples}
    classes = _classes(_named(triples) - own - known.keys(), twin)
    for node, class_ in known.items():
        if class_:
            classes.add((node, RDF.type, class_))
    held: dict[Node, set[Node]] = defaultdict(set)
    for subject, _, held_by in classes:
        held[held_by].add(subject)
    report = validate(triples, ExternalNodes(held, lambda: classes))
    named = tuple(f"{short(subject)} " for subject in own if subject.startswith(of))
    return next((line for line in report.lines if line.startswith(named)), "")


def _named(triples: Triples) -> set[URIRef]:
    """The nodes that the triples refer to."""
    return {o for _, p, o in triples if p != RDF.type and isinstance(o, URIRef)}


def _classes(nodes: Iterable[URIRef], twin: Endpoint) -> Graph:
    values = " ".join(f"<{node}>" for node in nodes)
    if not values:
        return Graph()
    return twin.construct(
        f"CONSTRUCT {{ ?s a ?c }} {{ VALUES ?s {{ {values} }} {stated('?s a ?c')} }}"
    )
