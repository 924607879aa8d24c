"""The terms that a probe of this machine writes are in the ontology and have shapes."""

import pytest
from rdflib import RDF, SKOS, Graph, URIRef

from api.vocabulary.usage import shapes_by_term
from ingest.probe import probe
from ontology.iris import Iris
from ontology.load import ontology_graph
from ontology.terms import ST
from tests.ingest.documents import describe_json

# Terms without a shape, each with the reason: no value of theirs could be wrong.
UNCHECKED: set[str] = set()


@pytest.fixture(scope="module")
def twin(pmcd: str) -> Graph:
    return describe_json(probe("n1", pmcd), Iris("http://localhost:8000")).union()


@pytest.fixture(scope="module")
def written(twin: Graph) -> set[str]:
    """The properties and classes of our vocabulary in the twin."""
    used = {*twin.predicates(), *twin.objects(None, RDF.type)}
    own = {str(term) for term in used if str(term).startswith(str(ST))}
    return {term.removeprefix(str(ST)) for term in own}


def test_every_term_is_declared(written: set[str]) -> None:
    declared = {str(term) for term in ontology_graph().subjects(RDF.type)}
    assert len(written) > 60
    assert not [term for term in written if str(ST[term]) not in declared]


def test_written_terms_are_not_marked_as_not_stored(written: set[str]) -> None:
    noted = ontology_graph().subject_objects(SKOS.scopeNote)
    silent = {str(term) for term, note in noted if str(note).startswith("Not stored")}
    assert not [term for term in sorted(written) if str(ST[term]) in silent]


def test_every_own_value_is_declared(twin: Graph) -> None:
    """st:UnifiedCache and st:Counter occur as values."""
    declared = set(ontology_graph().subjects(RDF.type))
    values = {
        value
        for value in twin.objects()
        if isinstance(value, URIRef) and value.startswith(str(ST))
    }
    assert values and values <= declared


def test_every_property_has_a_shape(written: set[str]) -> None:
    properties = {term for term in written if term[0].islower()}
    unlooked = properties - shapes_by_term().keys() - UNCHECKED
    assert not unlooked, (
        f"no shape has {', '.join(sorted(unlooked))} on its path: add one to shapes/, "
        "or list it here with the reason"
    )
    assert not UNCHECKED & shapes_by_term().keys()
