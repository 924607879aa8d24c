"""Every term in the shapes exists: a misspelt one would check nothing."""

from pathlib import Path

import pytest
from rdflib import RDF, SH, Graph, URIRef
from rdflib.term import Node

from ontology.load import ontology_graph
from ontology.terms import ST
from shapes.load import shape_paths

# Of SHACL core (https://www.w3.org/TR/shacl/), what a shapes graph may say.
CLASSES = {"NodeShape", "PropertyShape"}
VALUES = {"Violation", "Warning", "Info", "IRI", "BlankNode", "Literal"} | {
    "BlankNodeOrIRI",
    "BlankNodeOrLiteral",
    "IRIOrLiteral",
}
TARGETS = {"targetNode", "targetClass", "targetSubjectsOf", "targetObjectsOf"}
PATHS = {
    "path",
    "inversePath",
    "alternativePath",
    "zeroOrMorePath",
    "oneOrMorePath",
    "zeroOrOnePath",
}
CONSTRAINTS = {
    "class",
    "datatype",
    "nodeKind",
    "minCount",
    "maxCount",
    "minExclusive",
    "minInclusive",
    "maxExclusive",
    "maxInclusive",
    "minLength",
    "maxLength",
    "pattern",
    "flags",
    "languageIn",
    "uniqueLang",
    "equals",
    "disjoint",
    "lessThan",
    "lessThanOrEquals",
    "not",
    "and",
    "or",
    "xone",
    "node",
    "property",
    "qualifiedValueShape",
    "qualifiedMinCount",
    "qualifiedMaxCount",
    "qualifiedValueShapesDisjoint",
    "closed",
    "ignoredProperties",
    "hasValue",
    "in",
}
ABOUT = {"message", "severity", "name", "description", "order", "group", "deactivated"}
SHACL_CORE = CLASSES | VALUES | TARGETS | PATHS | CONSTRAINTS | ABOUT

SHAPE_FILES = shape_paths()


def _stem(path: Path) -> str:
    return path.stem


def _terms(graph: Graph, namespace: str) -> set[Node]:
    return {
        node
        for triple in graph
        for node in triple
        if isinstance(node, URIRef) and node.startswith(namespace)
    }


@pytest.mark.parametrize("path", SHAPE_FILES, ids=_stem)
def test_every_shacl_term_is_one(path: Path) -> None:
    used = _terms(Graph().parse(path), str(SH))
    assert {str(term).removeprefix(str(SH)) for term in used} <= SHACL_CORE


@pytest.mark.parametrize("path", SHAPE_FILES, ids=_stem)
def test_every_term_of_the_vocabulary_exists(path: Path) -> None:
    assert _terms(Graph().parse(path), str(ST)) <= set(ontology_graph().subjects())


@pytest.mark.parametrize("path", SHAPE_FILES, ids=_stem)
def test_every_shape_says_in_words_what_is_wrong(path: Path) -> None:
    graph = Graph().parse(path)
    named = set(graph.subjects(RDF.type, SH.PropertyShape))
    named |= set(graph.subjects(RDF.type, SH.NodeShape))
    assert named
    assert not [shape for shape in named if len(list(graph[shape : SH.message])) != 1]


@pytest.mark.parametrize("path", SHAPE_FILES, ids=_stem)
def test_shapes_are_published_under_the_name_of_their_file(path: Path) -> None:
    graph = Graph().parse(path)
    root = f"https://w3id.org/supertwin/shapes/{path.stem}#"
    shapes = set(graph.subjects(RDF.type, SH.PropertyShape))
    assert all(str(shape).startswith(root) for shape in shapes)


@pytest.mark.parametrize("path", SHAPE_FILES, ids=_stem)
def test_no_shape_has_a_target_that_is_never_met(path: Path) -> None:
    """A named shape without a target would never be looked at."""
    graph = Graph().parse(path)
    named = set(graph.subjects(RDF.type, SH.PropertyShape))
    named |= set(graph.subjects(RDF.type, SH.NodeShape))
    targets = {SH[name] for name in TARGETS}
    assert not [shape for shape in named if not targets & set(graph.predicates(shape))]
