"""Proof by reasoner that the ontology does not contradict itself (needs Java).

HermiT is run on the ontology, never on a twin: instances are what SHACL is for.
"""

import io
from typing import Any

from rdflib import OWL, RDF, Graph

from ontology.errors import InconsistentOntologyError, ReasonerError


def check(graph: Graph) -> None:
    """Run HermiT over an ontology of OWL 2 DL.

    Raises InconsistentOntologyError, which names the classes that nothing can belong
    to, and ReasonerError where owlready2 or Java is missing or HermiT refuses the
    ontology (for example because it is not OWL 2 DL).
    """
    owlready2 = _owlready2()
    world = owlready2.World()
    try:
        _load(world, graph)
        _reason(owlready2, world)
        found = {str(each.iri) for each in world.inconsistent_classes()}
    finally:
        world.close()
    named = sorted(found - {str(OWL.Nothing)})
    if named:
        raise InconsistentOntologyError(
            f"nothing can be a {', '.join(named)}: mend their axioms"
        )


def _owlready2() -> Any:
    try:
        import owlready2
    except ImportError as error:
        raise ReasonerError(
            "owlready2 is not installed: install SuperTwin's dev dependencies"
        ) from error
    return owlready2


def _load(world: Any, graph: Graph) -> None:
    """Hand the axioms over as N-Triples, the one syntax that owlready2 reads safely.

    Ontology headers stay behind: owlready2 would fetch their imports over the network.
    """
    headers = set(graph.subjects(RDF.type, OWL.Ontology))
    axioms = Graph()
    for triple in graph:
        if triple[0] not in headers:
            axioms.add(triple)
    triples = axioms.serialize(format="nt", encoding="utf-8")
    world.get_ontology("urn:supertwin:checked").load(fileobj=io.BytesIO(triples))


def _reason(owlready2: Any, world: Any) -> None:
    try:
        owlready2.sync_reasoner_hermit(world, debug=0)
    except owlready2.OwlReadyInconsistentOntologyError as error:
        raise InconsistentOntologyError(
            "the ontology contradicts itself: look at what was added last"
        ) from error
    except (owlready2.OwlReadyJavaError, OSError) as error:
        raise ReasonerError(
            f"HermiT could not reason ({_first_line(error)}): "
            "install Java 17 and keep the ontology within OWL 2 DL"
        ) from error


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if "Exception" in line]
    return (lines or str(error).splitlines() or ["no output"])[0].strip()
