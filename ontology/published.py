"""The ontology as one document, as it is served and written to files.

The whole is one ontology, ``https://w3id.org/supertwin/ns``. Its terms name their
defining module; each module is also a document of its own.
"""

from functools import cache
from pathlib import Path

import orjson
from rdflib import DCTERMS, OWL, RDF, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from ontology.load import (
    alignment_paths,
    axioms,
    context,
    module_paths,
    ontology_graph,
)
from ontology.terms import ONTOLOGY, PREFIXES, VERSION

# https://www.w3.org/ns/owl-profile/; checked by tests/ontology/test_profile.py.
PROFILE = URIRef("http://www.w3.org/ns/owl-profile/DL")
_VANN = Namespace("http://purl.org/vocab/vann/")
_ABOUT = (
    "Machines of high-performance computing, what they are made of, what can be "
    "measured of them, and where that is known from."
)


@cache
def whole_ontology() -> Graph:
    """All modules except the alignments, under one header; do not change it."""
    graph = _with_prefixes(Graph())
    headers = set(ontology_graph().subjects(RDF.type, OWL.Ontology))
    graph += axioms(ontology_graph())
    _add_header(graph, headers)
    return graph


def module_graph(name: str) -> Graph | None:
    """A module or an alignment as in its file; None for an unknown name."""
    path = module_files().get(name)
    return (
        None if path is None else _with_prefixes(Graph().parse(path, format="turtle"))
    )


@cache
def module_files() -> dict[str, Path]:
    """Every module and alignment by its name."""
    return {path.stem: path for path in (*module_paths(), *alignment_paths())}


def json_ld(graph: Graph) -> bytes:
    """A graph of the ontology as JSON-LD with its own context."""
    terms = {**context()["@context"], **dict(_EXTRA)}
    text = graph.serialize(format="json-ld", context=terms, auto_compact=False)
    return orjson.dumps(orjson.loads(text), option=orjson.OPT_INDENT_2)


_EXTRA = (("vann", str(_VANN)), ("definition", "skos:definition"))


def _add_header(graph: Graph, modules: set[Node]) -> None:
    whole = URIRef(ONTOLOGY)
    facts = (
        (RDF.type, OWL.Ontology),
        (OWL.versionIRI, URIRef(f"{ONTOLOGY}/{VERSION}")),
        (OWL.versionInfo, Literal(VERSION)),
        (DCTERMS.title, Literal("SuperTwin", lang="en")),
        (DCTERMS.description, Literal(_ABOUT, lang="en")),
        (DCTERMS.conformsTo, PROFILE),
        (_VANN.preferredNamespacePrefix, Literal("st")),
        (_VANN.preferredNamespaceUri, Literal(f"{ONTOLOGY}#")),
        *(
            (DCTERMS.hasPart, URIRef(str(module)))
            for module in sorted(map(str, modules))
        ),
    )
    for link, value in facts:
        graph.add((whole, link, value))
    for link in (DCTERMS.conformsTo, DCTERMS.hasPart):
        graph.add((link, RDF.type, OWL.AnnotationProperty))
    for link in (_VANN.preferredNamespacePrefix, _VANN.preferredNamespaceUri):
        graph.add((link, RDF.type, OWL.AnnotationProperty))


def _with_prefixes(graph: Graph) -> Graph:
    for prefix, namespace in (*PREFIXES.items(), ("vann", str(_VANN))):
        graph.bind(prefix, namespace, override=True)
    return graph
