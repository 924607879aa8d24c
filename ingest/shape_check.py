"""What the shapes say of triples that are about to be added to a graph store."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from rdflib import RDF, Graph, URIRef
from rdflib.term import Node

from core.stores.endpoint import Endpoint
from ingest.triples import Triples
from shapes.validate import Elsewhere, validate
from shapes.wording import short


def first_fault(
    triples: Triples,
    twin: Endpoint,
    of: str = "",
    known: Mapping[URIRef, URIRef | None] = MappingProxyType({}),
) -> str:
    """What is wrong with new triples, in one line; empty where nothing is.

    What they name stands in the store, validated before: of it the classes are read,
    and nothing is said. Nor is it of nodes whose IRIs do not begin with ``of``. Of what
    is ``known`` the class need not be read; None where no shape asks for one.
    """
    own = {subject for subject, _, _ in triples}
    classes = _classes(_named(triples) - own - known.keys(), twin)
    for node, class_ in known.items():
        if class_:
            classes.add((node, RDF.type, class_))
    held: dict[Node, set[Node]] = defaultdict(set)
    for subject, _, held_by in classes:
        held[held_by].add(subject)
    report = validate(triples, Elsewhere(held, lambda: classes))
    named = tuple(f"{short(subject)} " for subject in own if subject.startswith(of))
    return next((line for line in report.lines if line.startswith(named)), "")


def _named(triples: Triples) -> set[URIRef]:
    """The nodes that they refer to."""
    return {o for _, p, o in triples if p != RDF.type and isinstance(o, URIRef)}


def _classes(nodes: Iterable[URIRef], twin: Endpoint) -> Graph:
    values = " ".join(f"<{node}>" for node in nodes)
    if not values:
        return Graph()
    return twin.construct(
        f"CONSTRUCT {{ ?s a ?c }} {{ VALUES ?s {{ {values} }} ?s a ?c }}"
    )
