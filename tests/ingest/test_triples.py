from rdflib import RDF, Graph, Literal, URIRef
from rdflib.compare import isomorphic

from ingest.triples import Triples, digest, term

A, B, P = (URIRef(f"urn:x:{name}") for name in "abp")


def test_values_become_terms_of_their_type() -> None:
    assert term(1).datatype != term(True).datatype
    assert term(True) == Literal(True)
    assert str(term(0.1)) == "0.1"
    assert "decimal" in str(term(1.0).datatype)
    assert term(A) is A


def test_unknown_values_give_no_triples() -> None:
    triples = Triples()
    triples.node(A, B, {P: [None, "", 0, False, "x"]})
    assert [o for _, p, o in triples if p == P] == [
        Literal(0),
        Literal(False),
        Literal("x"),
    ]
    assert (A, RDF.type, B) in triples


def test_ntriples_equal_the_graph() -> None:
    triples = Triples()
    triples.node(A, B, {P: ['quo"te', "back\\slash", "new\nline", "ümlaut", "\t"]})
    assert isomorphic(
        Graph().parse(data=triples.ntriples(), format="nt"), triples.graph()
    )


def test_control_characters_in_literals_are_replaced() -> None:
    triples = Triples()
    triples.node(A, B, {P: ["a\0b\x1b", "caf\udce9", "\ttab\n"]}, label="\uffff")
    texts = [str(o) for _, p, o in triples if isinstance(o, Literal)]
    assert texts == ["\ufffd", "a\ufffdb\ufffd", "caf\\udce9", "\ttab\n"]


def test_digest_does_not_depend_on_order() -> None:
    one, two = Triples(), Triples()
    one.link(A, {P: [1, 2, 2]})
    two.link(A, {P: [2, 1]})
    assert digest([one]) == digest([two])
    two.link(A, {P: 3})
    assert digest([one]) != digest([two])
