"""The difference between two states of a twin, without volatile facts."""

from collections.abc import Iterable
from dataclasses import dataclass

from rdflib import Graph, Literal, URIRef

from ingest.triples import Triple, Triples
from ontology.terms import PROV, ST

# Not part of a machine's state: the probe, and what PCP offered at that moment.
VOLATILE_KINDS = ("probe", "source", "instance")
VOLATILE_PROPERTIES = {
    PROV.wasGeneratedBy,
    ST.digest,
    ST.bootId,
    ST.claimedBy,
    ST.exposes,
    ST.resolvesAtFetch,
    ST.wear,
}


@dataclass(frozen=True)
class GraphDiff:
    """The removed and added triples."""

    removed: frozenset[Triple]
    added: frozenset[Triple]

    def __bool__(self) -> bool:
        return bool(self.removed or self.added)


def difference(old: bytes, new: Iterable[Triple], node: URIRef) -> GraphDiff:
    """The difference between a state as N-Triples and a new one; `node` is the host.

    Lines are compared as text first: only a few of 40,000 triples differ, and only
    these are parsed. A store may write the same number differently, so the remaining
    triples are compared by value.
    """
    before = {line for line in old.decode().split("\n") if line}
    after = {line for line in Triples(new).ntriples().split("\n") if line}
    removed = _by_value(before - after, node)
    added = _by_value(after - before, node)
    return GraphDiff(
        frozenset(removed[key] for key in removed.keys() - added.keys()),
        frozenset(added[key] for key in added.keys() - removed.keys()),
    )


def is_volatile(triple: Triple, node: URIRef) -> bool:
    """Whether a triple is not part of the machine's state."""
    subject, predicate, _ = triple
    kind = subject.removeprefix(f"{node}/").partition("/")[0]
    return predicate in VOLATILE_PROPERTIES or kind in VOLATILE_KINDS


def _by_value(lines: Iterable[str], node: URIRef) -> dict[object, Triple]:
    triples = as_triples("\n".join(lines))
    return {_key(triple): triple for triple in triples if not is_volatile(triple, node)}


def as_triples(text: str) -> Iterable[Triple]:
    """The triples of an N-Triples text without blank nodes."""
    for subject, predicate, value in Graph().parse(data=text, format="nt"):
        if isinstance(value, URIRef | Literal):
            yield URIRef(str(subject)), URIRef(str(predicate)), value


def _key(triple: Triple) -> object:
    subject, predicate, value = triple
    if isinstance(value, Literal):
        return subject, predicate, value.datatype, value.language, str(value.value)
    return triple
