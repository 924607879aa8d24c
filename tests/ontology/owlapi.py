"""The OWL API and HermiT, which owlready2 contains, within this process.

Both are Java; JPype runs them. They check the ontology, never a twin: SHACL checks
instances.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jpype
from rdflib import OWL, RDF, Graph, URIRef

from ontology.load import axioms

_NAME = URIRef("urn:supertwin:checked")
# Small heap; signals stay with Python, so that Ctrl-C works. Optimising for a
# long-running JVM would take as long as the reasoning.
_OPTIONS = (
    *("-Xmx512m", "-Xss4m", "-Xrs"),
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
)


class ReasonerError(Exception):
    """Java is missing, or the reasoner failed for a reason outside the ontology."""


@contextmanager
def loaded(graph: Graph) -> Iterator[Any]:
    """The axioms of a graph as an ontology of the OWL API, for the duration of a block.

    Raises ReasonerError if Java is missing.
    """
    manager = java("org.semanticweb.owlapi.apibinding.OWLManager")
    source = java("org.semanticweb.owlapi.io.StringDocumentSource")
    one = manager.createOWLOntologyManager()
    found = one.loadOntologyFromOntologyDocument(source(_turtle(graph)))
    try:
        yield found
    finally:
        one.removeOntology(found)


def java(name: str) -> Any:
    """A Java class by its full name; starts Java if necessary."""
    if not jpype.isJVMStarted():
        try:
            path = jpype.getDefaultJVMPath()
        except jpype.JVMNotFoundException as error:
            raise ReasonerError("no Java was found: install Java 17") from error
        jpype.startJVM(path, *_OPTIONS, classpath=[str(_jar())])
    return jpype.JClass(name)


def _jar() -> Path:
    """HermiT's archive, which also contains the OWL API."""
    spec = importlib.util.find_spec("owlready2")
    assert spec and spec.origin
    return Path(spec.origin).parent / "hermit" / "HermiT.jar"


def _turtle(graph: Graph) -> str:
    found = axioms(graph)
    found.add((_NAME, RDF.type, OWL.Ontology))
    return found.serialize(format="turtle")
