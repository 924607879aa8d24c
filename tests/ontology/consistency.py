"""Proof by HermiT that the ontology is consistent, and its entailments."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jpype
from rdflib import Graph

from ontology.classify import InconsistentOntologyError
from tests.ontology.owlapi import ReasonerError, java, loaded


def check(graph: Graph) -> None:
    """Run HermiT over an ontology of OWL 2 DL.

    Raises InconsistentOntologyError, which names the unsatisfiable classes, and
    ReasonerError if Java is missing or HermiT refuses the ontology (for example because
    it is not OWL 2 DL).
    """
    with _reasoner(graph) as hermit:
        nothing = hermit.getUnsatisfiableClasses().getEntitiesMinusBottom()
        named = sorted(str(each.getIRI()) for each in nothing)
    if named:
        raise InconsistentOntologyError(
            f"nothing can be a {', '.join(named)}: fix their axioms"
        )


def missing(graph: Graph, conclusions: Graph) -> list[str]:
    """The conclusions that do not follow from an ontology, as axioms.

    The conclusions declare the terms they use, as every ontology does. Raises the same
    errors as check.
    """
    with _reasoner(graph) as hermit, loaded(conclusions) as expected:
        axioms = [axiom for axiom in expected.getAxioms() if axiom.isLogicalAxiom()]
        if not axioms:
            raise ReasonerError("no conclusion was read: declare the terms they use")
        return sorted(str(each) for each in axioms if not hermit.isEntailed(each))


@contextmanager
def _reasoner(graph: Graph) -> Iterator[Any]:
    """HermiT with a consistent ontology."""
    with loaded(graph) as ontology:
        hermit = None
        try:
            hermit = java("org.semanticweb.HermiT.Reasoner")(ontology)
            if not hermit.isConsistent():
                raise InconsistentOntologyError(
                    "the ontology contradicts itself: look at what was added last"
                )
            yield hermit
        except jpype.JException as error:
            raise ReasonerError(
                f"HermiT could not reason ({_first_line(error)}): "
                "keep the ontology within OWL 2 DL"
            ) from error
        finally:
            if hermit is not None:
                hermit.dispose()


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].strip()
