"""The ontology is in OWL 2 DL, and in no smaller profile, by the OWL API's checker."""

import pytest
from rdflib import OWL, RDF, RDFS, Graph, Literal, URIRef

from ontology.load import alignment_graph, ontology_graph
from tests.ontology.prefixes import PREFIXES
from tests.ontology.profile import Profile, violations

# https://www.w3.org/TR/owl2-syntax/#Datatype_Maps; xsd:date is not among them.
OWL_2_DATATYPES = {
    f"http://www.w3.org/2001/XMLSchema#{name}"
    for name in (
        *("decimal", "integer", "nonNegativeInteger", "nonPositiveInteger"),
        *("positiveInteger", "negativeInteger", "long", "int", "short", "byte"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
        *("double", "float", "string", "normalizedString", "token", "language"),
        *("Name", "NCName", "NMTOKEN", "boolean", "hexBinary", "base64Binary"),
        *("anyURI", "dateTime", "dateTimeStamp"),
    )
}


def _with(planted: str) -> Graph:
    return ontology_graph() + Graph().parse(data=PREFIXES + planted, format="turtle")


def test_ontology_is_owl_2_dl() -> None:
    assert violations(ontology_graph(), "DL") == []


def test_ontology_with_alignments_is_owl_2_dl() -> None:
    assert violations(ontology_graph() + alignment_graph(), "DL") == []


@pytest.mark.parametrize(
    ("profile", "why"),
    [
        ("EL", "AsymmetricObjectProperty|inverse|boolean"),
        ("QL", "FunctionalObjectProperty"),
        ("RL", "ObjectUnionOf"),
    ],
)
def test_ontology_is_not_in_a_smaller_profile(profile: Profile, why: str) -> None:
    """Otherwise docs/ontology.md should say so: rules or rewriting would do."""
    found = violations(ontology_graph(), profile)
    assert found
    assert [line for line in found if any(word in line for word in why.split("|"))]


@pytest.mark.parametrize(
    ("planted", "named"),
    [
        ("st:isWithin a owl:FunctionalProperty .", "non-simple property"),
        ("st:Odd rdfs:subClassOf st:Core .", "undeclared class"),
        ("st:osIndex a owl:ObjectProperty .", "Cannot pun between properties"),
        ("st:Core st:odd st:Die .", "undeclared annotation property"),
    ],
)
def test_violations_of_owl_2_dl_are_reported(planted: str, named: str) -> None:
    assert [line for line in violations(_with(planted)) if named in line]


def _datatypes(graph: Graph) -> set[str]:
    properties = graph.subjects(RDF.type, OWL.DatatypeProperty)
    ranges = {str(range_) for each in properties for range_ in graph[each : RDFS.range]}
    stated = {str(o.datatype) for o in graph.objects() if _is_typed(o)}
    return ranges | stated


def _is_typed(node: object) -> bool:
    return isinstance(node, Literal) and node.datatype is not None


def test_datatypes_are_those_of_owl_2() -> None:
    """The checker accepts any datatype of XML Schema."""
    graph = ontology_graph() + alignment_graph()
    assert _datatypes(graph) <= OWL_2_DATATYPES
    graph = Graph()
    planted = URIRef("urn:day")
    graph.add((planted, RDF.type, OWL.DatatypeProperty))
    graph.add((planted, RDFS.range, URIRef("http://www.w3.org/2001/XMLSchema#date")))
    assert not _datatypes(graph) <= OWL_2_DATATYPES
