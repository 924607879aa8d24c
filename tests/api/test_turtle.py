"""Turtle and N-Triples keep every term, and JSON-LD gives the same graph."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import BNode, Graph, Literal, URIRef
from rdflib.compare import isomorphic
from rdflib.namespace import RDF, XSD

from api.rdf import json_ld
from api.turtle import n_triples, turtle
from ontology.load import context
from ontology.terms import ST

NODE = URIRef("http://x/n")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def literal(text: str, datatype: URIRef) -> Literal:
    return Literal(text, datatype=datatype, normalize=False)


def graph_of(*values: Literal | URIRef | BNode) -> Graph:
    graph = Graph()
    for value in values:
        graph.add((NODE, ST.reason, value))
    return graph


@given(TEXTS, st.sampled_from([None, "en", "de-CH"]))
def test_texts_round_trip(text: str, language: str | None) -> None:
    graph = graph_of(Literal(text, lang=language))
    for written, format_ in ((turtle(graph), "turtle"), (n_triples(graph), "nt")):
        assert isomorphic(Graph().parse(data=written, format=format_), graph)


def test_numbers_keep_their_text() -> None:
    values = [
        literal("0.12345678901234567", XSD.double),
        literal("1e22", XSD.double),
        literal("INF", XSD.double),
        literal("007", XSD.integer),
        literal("1.50", XSD.decimal),
        literal("5", XSD.decimal),
        literal("yes", XSD.boolean),
        literal("true", XSD.boolean),
        literal("2026-11-21T00:00:00.000Z", XSD.dateTime),
    ]
    written = turtle(graph_of(*values))
    for text in ('"0.12345678901234567"^^xsd:double', " 1e22 ", " 007 ", " 1.50 "):
        assert text in written
    read = Graph().parse(data=written, format="turtle")
    assert len(read) == len(values)


def test_odd_iris_round_trip() -> None:
    graph = graph_of(URIRef("http://x/a b>"), URIRef(f"{ST}a/b"), URIRef(f"{ST}é"))
    read = Graph().parse(data=turtle(graph), format="turtle")
    assert set(read.objects()) == set(graph.objects())
    assert "<http://x/a\\u0020b\\u003E>" in n_triples(graph)


def test_requested_node_is_written_first() -> None:
    graph = graph_of(URIRef("http://x/a"))
    graph.add((URIRef("http://x/a"), RDF.type, ST.Core))
    assert turtle(graph, NODE).index("<http://x/n>\n") < turtle(graph, NODE).index(
        "<http://x/a>\n"
    )
    document = json.loads(json_ld(graph, "http://x/context.jsonld", NODE))
    assert document["@graph"][0]["@id"] == "http://x/n"


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")
def test_json_ld_is_the_same_graph() -> None:
    graph = graph_of(Literal("a"), Literal("b", lang="en"))
    graph.add((NODE, RDF.type, ST.HardwareThread))
    graph.add((NODE, ST.isPartOf, URIRef("http://x/core")))
    graph.add((NODE, ST.cacheType, ST.DataCache))
    graph.add((NODE, ST.osIndex, Literal(3)))
    graph.add((NODE, ST.allowed, Literal(True)))
    graph.add((NODE, ST.period, literal("0.5", XSD.decimal)))
    document = json.loads(json_ld(graph, "http://x/context.jsonld"))
    assert document["@context"] == "http://x/context.jsonld"
    read = Graph().parse(data=json.dumps(document | context()), format="json-ld")
    assert isomorphic(read, graph)
