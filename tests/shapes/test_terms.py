"""Every term in the shapes exists: a misspelt one would check nothing."""

from rdflib import RDF, SH, Graph, URIRef
from rdflib.term import Node

from ontology.load import ontology_graph
from ontology.terms import ST
from shapes.load import shape_paths

# What shapes may use of SHACL core (https://www.w3.org/TR/shacl/).
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

SHAPE_FILES = {path.stem: Graph().parse(path) for path in shape_paths()}


def _terms(graph: Graph, namespace: str) -> set[str]:
    return {
        node.removeprefix(namespace)
        for triple in graph
        for node in triple
        if isinstance(node, URIRef) and node.startswith(namespace)
    }


def _shapes(graph: Graph) -> set[Node]:
    properties = set(graph.subjects(RDF.type, SH.PropertyShape))
    return properties | set(graph.subjects(RDF.type, SH.NodeShape))


ALL_SHAPES = [
    (stem, graph, shape)
    for stem, graph in SHAPE_FILES.items()
    for shape in _shapes(graph)
]


def test_every_shape_file_defines_shapes() -> None:
    assert {stem for stem, _, _ in ALL_SHAPES} == set(SHAPE_FILES)


def test_every_shacl_term_exists() -> None:
    assert not [
        (stem, term)
        for stem, graph in SHAPE_FILES.items()
        for term in _terms(graph, str(SH)) - SHACL_CORE
    ]


def test_every_term_of_the_vocabulary_exists() -> None:
    known = set(ontology_graph().subjects())
    assert not [
        (stem, term)
        for stem, graph in SHAPE_FILES.items()
        for term in _terms(graph, str(ST))
        if ST[term] not in known
    ]


def test_every_shape_has_one_message() -> None:
    assert not [
        (stem, shape)
        for stem, graph, shape in ALL_SHAPES
        if len(list(graph[shape : SH.message])) != 1
    ]


def test_property_shapes_are_published_under_the_name_of_their_file() -> None:
    assert not [
        (stem, shape)
        for stem, graph, shape in ALL_SHAPES
        if (shape, RDF.type, SH.PropertyShape) in graph
        and not str(shape).startswith(f"https://w3id.org/supertwin/shapes/{stem}#")
    ]


def test_every_named_shape_has_a_target() -> None:
    """A named shape without a target would never be checked."""
    targets = {SH[name] for name in TARGETS}
    assert not [
        (stem, shape)
        for stem, graph, shape in ALL_SHAPES
        if not targets & set(graph.predicates(shape))
    ]
