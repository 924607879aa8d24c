"""The certifier accepts only data that pySHACL finds valid."""

import random
from collections.abc import Iterable

import pytest
from rdflib import RDF, RDFS, SH, XSD, Graph, Literal, URIRef
from rdflib.term import Node

from ingest.describe.plan import describe_sampling
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST
from shapes.certify import Certifier, Data, UnsureError
from shapes.load import shapes_graph
from shapes.validate import examine, is_valid

TURTLE = """
PREFIX sh: <http://www.w3.org/ns/shacl#>
<urn:shape> sh:targetClass <urn:c> ; sh:path <urn:p> ;
"""


def agrees(data: Graph) -> bool:
    """Assert that pySHACL agrees if the certifier accepts; return its verdict."""
    found = is_valid(data)
    if found:
        report = examine(data)
        assert report.conforms
        assert not report.lines
    return found


def test_every_own_shape_is_supported() -> None:
    assert Certifier(shapes_graph()).conforms(Data([]))


@pytest.mark.parametrize(
    "part",
    [
        "sh:uniqueLang true",
        "sh:deactivated true",
        "sh:flags 'i'",
        "sh:datatype <http://www.w3.org/2001/XMLSchema#hexBinary>",
        "sh:property [ sh:path [ sh:inversePath <urn:p> ] ; sh:minCount 1 ]",
        "a <http://www.w3.org/2000/01/rdf-schema#Class>",
        "sh:minCount 1.5",
    ],
)
def test_unsupported_shapes_are_left_to_pyshacl(part: str) -> None:
    with pytest.raises(UnsureError):
        Certifier(Graph().parse(data=f"{TURTLE} {part} ."))


def test_classes_declared_in_the_data_are_left_to_pyshacl() -> None:
    with pytest.raises(UnsureError):
        Data([(ST.Socket, RDFS.subClassOf, ST.Core)])


def test_class_of_external_nodes_is_given() -> None:
    """A plan and its series, whose host and metric are not validated again."""
    host, metric = URIRef("urn:host"), URIRef("urn:metric")
    triples = Triples()
    iris = Iris("http://localhost:8000")
    describe_sampling(triples, iris, "n1", "p", 0.1, "k.load", metric, {None: host})
    elsewhere = {ST.ComputeNode: {host, iris.host("n1")}, ST.Metric: {metric}}
    assert is_valid(triples, elsewhere)
    for class_ in elsewhere:
        assert not is_valid(triples, {**elsewhere, class_: set()})
    assert not is_valid(triples, {ST.Metric: {metric, host, iris.host("n1")}})


@pytest.fixture(scope="module")
def parts(big_host: Graph) -> Graph:
    """Part of a large host with every kind of component, as pySHACL is slow."""
    socket = URIRef(next(iter(big_host.subjects(RDF.type, ST.Socket))))
    kept = {socket, *list(big_host.subjects(ST.isPartOf, socket))[:6]}
    kept |= {s for one in set(kept) for s in big_host.subjects(ST.isPartOf, one)}
    kept |= {o for one in set(kept) for o in big_host.objects(one, None)}
    kept |= set(list(big_host.subjects(RDF.type, ST.SamplingPlan))[:1])
    return _graph(t for one in kept for t in big_host.triples((one, None, None)))


def _graph(triples: Iterable[tuple[Node, Node, Node]]) -> Graph:
    graph = Graph()
    for triple in triples:
        graph.add(triple)
    return graph


@pytest.mark.parametrize("seed", range(40))
def test_damaged_data_is_never_certified(parts: Graph, seed: int) -> None:
    """Triples are lost, duplicated, retyped and mixed up at random."""
    dice = random.Random(seed)
    triples = sorted(parts)
    data = _graph(triples)
    for _ in range(dice.choice((1, 1, 2))):
        subject, predicate, value = dice.choice(triples)
        if dice.random() < 0.7:
            data.remove((subject, predicate, value))
        if dice.random() < 0.7:
            data.add((subject, predicate, _other(dice, triples, value)))
    agrees(data)


def test_valid_host_is_certified(big_host: Graph) -> None:
    assert agrees(big_host)


def _other(dice: random.Random, triples: list[tuple[Node, ...]], value: Node) -> Node:
    return dice.choice(
        [
            dice.choice(triples)[2],
            Literal(f"{value}\n"),
            Literal(str(value), datatype=XSD.integer),
            Literal(""),
            Literal(-1),
            Literal(True),
            SH.IRI,
        ]
    )
