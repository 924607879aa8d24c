"""The class hierarchy that the ontology entails, by HermiT through owlready2."""

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rdflib import OWL, RDFS, Graph, URIRef

from ontology.errors import OntologyError
from ontology.load import axioms

_NAME = "urn:supertwin:classified"


class NotClassifiedError(OntologyError):
    """owlready2 or Java is missing, or the reasoner refuses the ontology."""


class InconsistentOntologyError(OntologyError):
    """The ontology contradicts itself, or has classes that nothing can belong to."""


def classify(graph: Graph, java: str | Path = "java") -> Graph:
    """Return every entailed ``rdfs:subClassOf`` between two named, different classes.

    The result is closed: it has the pair of a class and each class above it, except
    owl:Thing. ``java`` runs HermiT. Raises InconsistentOntologyError, which names the
    unsatisfiable classes, and NotClassifiedError.
    """
    try:
        import owlready2  # type: ignore[import-untyped]
    except ImportError:
        raise NotClassifiedError(
            "owlready2, which classifies, is not installed: `make install-test`"
        ) from None
    owlready2.JAVA_EXE = str(java)
    world = owlready2.World()
    # Its reader of Turtle loads no axioms and raises no error; that of N-Triples works.
    triples = io.BytesIO(axioms(graph).serialize(format="nt", encoding="utf-8"))
    loaded = world.get_ontology(_NAME).load(fileobj=triples)
    try:
        with loaded:
            owlready2.sync_reasoner_hermit(world, debug=0)
    except owlready2.OwlReadyInconsistentOntologyError:
        raise InconsistentOntologyError(
            "the ontology contradicts itself: look at what was added last"
        ) from None
    except (OSError, owlready2.OwlReadyJavaError) as error:
        raise NotClassifiedError(f"HermiT failed: {_reason(error)}") from None
    empty = {each.iri for each in world.inconsistent_classes()} - {str(OWL.Nothing)}
    if empty:
        raise InconsistentOntologyError(
            f"nothing can be a {', '.join(sorted(empty))}: correct their axioms"
        )
    return _hierarchy(world.classes())


def _hierarchy(classes: Iterable[Any]) -> Graph:
    found = Graph()
    for each in classes:
        # include_self=False would leave out equivalent classes, too.
        for above in each.ancestors():
            if above is not each and above.iri != str(OWL.Thing):
                found.add((URIRef(each.iri), RDFS.subClassOf, URIRef(above.iri)))
    return found


def _reason(error: Exception) -> str:
    """Return the text of the Java exception, else the first line of the error."""
    text = str(error)
    found = re.search(r"Exception: (.+)", text)
    return found[1] if found else text.partition("\n")[0]
