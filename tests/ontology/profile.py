"""Which profile of OWL 2 an ontology is in, by the checker of the OWL API.

https://www.w3.org/TR/owl2-profiles/ and, for DL, section 3 of
https://www.w3.org/TR/owl2-syntax/.
"""

from typing import Literal

from rdflib import Graph

from tests.ontology.owlapi import java, loaded

Profile = Literal["DL", "EL", "QL", "RL"]


def violations(graph: Graph, profile: Profile = "DL") -> list[str]:
    """Reasons why an ontology is not in a profile, a line each; empty if it is.

    Raises ReasonerError if Java is missing.
    """
    checker = java(f"org.semanticweb.owlapi.profiles.OWL2{profile}Profile")()
    with loaded(graph) as ontology:
        report = checker.checkOntology(ontology)
        return sorted(" ".join(str(each).split()) for each in report.getViolations())
