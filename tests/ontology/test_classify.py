"""The class hierarchy by owlready2 and HermiT, as the command writes it."""

import sys
from pathlib import Path

import pytest
from rdflib import RDFS, Graph, URIRef

from ontology.classify import (
    InconsistentOntologyError,
    NotClassifiedError,
    classify,
)
from ontology.load import (
    SUPERCLASSES,
    alignment_graph,
    ontology_graph,
    read_modules,
)
from ontology.terms import ST
from tests.command_line import run
from tests.ontology.prefixes import PREFIXES

SOSA = "http://www.w3.org/ns/sosa/"


def _with(planted: str) -> Graph:
    return ontology_graph() + Graph().parse(data=PREFIXES + planted, format="turtle")


def test_command_writes_all_superclasses(tmp_path: Path) -> None:
    file = tmp_path / "classes.ttl"
    done = run({}, "ontology", "classify", "--out", str(file))
    assert done.returncode == 0, done.stderr
    found = Graph().parse(file)
    assert f"{len(found)} pairs of classes" in done.stdout
    expected = {
        (ST.ComputeNode, URIRef(f"{SOSA}Platform")),
        (ST.ComputeNode, ST.Interface),
        (ST.Core, URIRef(f"{SOSA}FeatureOfInterest")),
        (ST.ObservationInterface, URIRef("http://www.w3.org/ns/prov#Activity")),
    }
    pairs = set(found.subject_objects(RDFS.subClassOf))
    assert expected <= pairs
    assert not [below for below, above in pairs if below == above]
    for below, above in pairs:
        for top in found.objects(above, RDFS.subClassOf):
            assert (below, top) in pairs


def test_committed_superclasses_are_those_of_hermit() -> None:
    """To update the file: `supertwin ontology classify --out FILE`."""
    found = classify(ontology_graph() + alignment_graph())
    assert set(read_modules([SUPERCLASSES])) == set(found)


def test_entailed_class_is_found() -> None:
    """The axioms of these classes state no subclass of a named class."""
    planted = """
    st:Same a owl:Class ; owl:equivalentClass
        [ a owl:Class ; owl:intersectionOf (st:Core st:Interface) ] .
    st:Either a owl:Class ; owl:equivalentClass
        [ a owl:Class ; owl:unionOf (st:Core st:Cache) ] .
    """
    pairs = set(classify(_with(planted)).subject_objects(RDFS.subClassOf))
    same, either = ST.Same, ST.Either
    assert {(ST.Core, same), (same, ST.Core), (ST.Cache, either)} <= pairs
    assert {(ST.Core, either), (either, ST.Interface)} <= pairs
    assert (ST.Cache, same) not in pairs


@pytest.mark.parametrize(
    ("planted", "message"),
    [
        (
            "st:Odd a owl:Class ; rdfs:subClassOf st:Core, st:Cache .",
            "a https:.*Odd:",
        ),
        ("<urn:x> a st:Core, st:Cache .", "contradicts itself"),
    ],
)
def test_contradiction_is_an_error(planted: str, message: str) -> None:
    with pytest.raises(InconsistentOntologyError, match=message) as caught:
        classify(_with(planted))
    assert "owl#Nothing" not in str(caught.value)


def test_refusal_of_hermit_is_one_line() -> None:
    with pytest.raises(NotClassifiedError, match="Non-simple property") as caught:
        classify(_with("st:isWithin a owl:FunctionalProperty ."))
    assert len(str(caught.value).splitlines()) == 1


def test_missing_java_or_owlready2_names_the_fix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NotClassifiedError, match="HermiT failed: .*/no/java"):
        classify(ontology_graph(), "/no/java")
    monkeypatch.setitem(sys.modules, "owlready2", None)
    with pytest.raises(NotClassifiedError, match="make install-test"):
        classify(ontology_graph())
