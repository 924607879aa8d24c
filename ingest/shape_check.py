"""What the shapes say of triples that are about to be added to a graph store."""

from collections import defaultdict
from collections.abc import Iterable

from rdflib import Graph, URIRef
from rdflib.term import Node

from ingest.triples import Triples
from queries.endpoint import Endpoint
from shapes.validate import Elsewhere, validate
from shapes.wording import short


def first_fault(triples: Triples, twin: Endpoint, of: str = "") -> str:
    """What is wrong with new triples, in one line; empty where nothing is.

    What they name stands in the store, validated before: of it the classes are read,
    and nothing is said. Nor is it of nodes whose IRIs do not begin with ``of``.
    """
    own = {subject for subject, _, _ in triples}
    classes = _classes({o for _, _, o in triples if isinstance(o, URIRef)} - own, twin)
    held: dict[Node, set[Node]] = defaultdict(set)
    for node, _, class_ in classes:
        held[class_].add(node)
    report = validate(triples, Elsewhere(held, lambda: classes))
    named = tuple(f"{short(subject)} " for subject in own if subject.startswith(of))
    return next((line for line in report.lines if line.startswith(named)), "")


def _classes(nodes: Iterable[URIRef], twin: Endpoint) -> Graph:
    values = " ".join(f"<{node}>" for node in nodes)
    return twin.construct(
        f"CONSTRUCT {{ ?s a ?c }} {{ VALUES ?s {{ {values} }} ?s a ?c }}"
    )
