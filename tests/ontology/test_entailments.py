"""What must follow from the ontology, and what must not, by HermiT."""

import pytest
from rdflib import OWL, RDF, RDFS, Graph, URIRef
from rdflib.term import Node

from ontology.classify import InconsistentOntologyError
from ontology.load import alignment_graph, ontology_graph
from ontology.terms import ST
from tests.ontology.consistency import check, missing
from tests.ontology.prefixes import PREFIXES

SOSA = "http://www.w3.org/ns/sosa/"

SUBCLASSES = """
st:ComputeNode sosa:Platform ; st:Metric sosa:ObservableProperty ;
st:PmuEvent sosa:ObservableProperty ; st:Pmu sosa:Sensor ; st:Pmda sosa:Sensor ;
st:BenchmarkInterface sosa:Procedure ; st:BenchmarkResult sosa:Observation ;
st:BenchmarkResult qudt:Quantifiable ; st:Probe prov:Activity ;
st:DerivedFigure qudt:Quantifiable ; st:DerivedFigure prov:Entity ;
st:EventAccuracy prov:Entity ;
st:ObservationInterface prov:Activity ; st:ProbeSource prov:Entity ;
st:Claim prov:Entity ; st:SamplingPlan prov:Plan ; st:SamplingPlan prov:Entity ;
st:BenchmarkInterface prov:Plan ; st:Pmda prov:Agent ;
st:SWTelemetry ref:TimeseriesReference ; st:HWTelemetry ref:ExternalReference
"""
PAIRS = [line.split() for line in SUBCLASSES.replace("\n", " ").split(";")]

# A thread, its core, socket and host; states only st:isPartOf and a cache.
HOST = """
<urn:t> st:isPartOf <urn:c> ; st:usesCache <urn:l2> .
<urn:c> a st:Core ; st:isPartOf <urn:s> .
<urn:s> a st:Socket ; st:isPartOf <urn:n> .
<urn:n> a st:ComputeNode .
<urn:d> a st:NumaDistance ; st:fromDomain <urn:m0> ; st:toDomain <urn:m1> .
<urn:t> a owl:NamedIndividual . <urn:l2> a owl:NamedIndividual .
<urn:m0> a owl:NamedIndividual . <urn:m1> a owl:NamedIndividual .
"""
DECLARED = """
st:isWithin a owl:ObjectProperty . st:hasPart a owl:ObjectProperty .
st:cacheOf a owl:ObjectProperty . st:contents a owl:ObjectProperty .
st:HardwareThread a owl:Class . st:Cache a owl:Class . st:NumaDomain a owl:Class .
st:Interface a owl:Class . sosa:FeatureOfInterest a owl:Class .
<urn:t> a owl:NamedIndividual . <urn:c> a owl:NamedIndividual .
<urn:s> a owl:NamedIndividual . <urn:n> a owl:NamedIndividual .
<urn:l2> a owl:NamedIndividual . <urn:m1> a owl:NamedIndividual .
"""


def _turtle(text: str) -> Graph:
    return Graph().parse(data=PREFIXES + text, format="turtle")


def _everything(planted: str = "") -> Graph:
    return ontology_graph() + alignment_graph() + _turtle(planted)


def _below(graph: Graph, top: Node) -> set[Node]:
    return set(graph.transitive_subjects(RDFS.subClassOf, top)) - {top}


def _subclasses(pairs: list[tuple[Node, Node]]) -> Graph:
    made = Graph()
    for lower, upper in pairs:
        made.add((lower, RDF.type, OWL.Class))
        made.add((upper, RDF.type, OWL.Class))
        made.add((lower, RDFS.subClassOf, upper))
    return made


def test_every_component_can_be_observed() -> None:
    """Includes components of modules that are added later."""
    components = _below(ontology_graph(), ST.Interface)
    assert len(components) > 10
    feature = URIRef(f"{SOSA}FeatureOfInterest")
    pairs = [(each, feature) for each in components if isinstance(each, URIRef)]
    assert missing(_everything(), _subclasses(pairs)) == []


def test_alignments_entail_the_expected_superclasses() -> None:
    expected = Graph()
    for lower, upper in PAIRS:
        declared = f"{upper} a owl:Class . {lower} a owl:Class ; "
        expected += _turtle(f"{declared} rdfs:subClassOf {upper} .")
    assert missing(_everything(), expected) == []


def test_missing_entailment_is_named() -> None:
    """A check that finds everything entailed would be useless."""
    wrong = _subclasses([(ST.Core, URIRef(f"{SOSA}Platform")), (ST.Core, ST.Interface)])
    (line,) = missing(_everything(), wrong)
    assert "Core" in line and "Platform" in line


FOLLOWS = """
<urn:t> a st:HardwareThread, st:Interface, sosa:FeatureOfInterest ;
    st:isWithin <urn:c>, <urn:s>, <urn:n> .
<urn:n> st:hasPart <urn:s> ; st:contents <urn:s> .
<urn:l2> a st:Cache ; st:cacheOf <urn:t> .
<urn:m1> a st:NumaDomain .
"""


def test_expected_facts_of_a_host_are_entailed() -> None:
    assert missing(_everything(HOST), _turtle(DECLARED + FOLLOWS)) == []


def test_containment_does_not_shorten_distances() -> None:
    """st:isPartOf names the smallest container only, so it must not be transitive."""
    wrong = "st:isPartOf a owl:ObjectProperty . <urn:t> st:isPartOf <urn:n> ."
    assert len(missing(_everything(HOST), _turtle(DECLARED + wrong))) == 1


def test_kinds_of_component_are_disjoint() -> None:
    graph = ontology_graph()
    components = sorted(map(str, graph.subjects(RDFS.subClassOf, ST.Interface)))
    expected = Graph()
    for one in components:
        expected.add((URIRef(one), RDF.type, OWL.Class))
        for other in components:
            if one < other:
                expected.add((URIRef(one), OWL.disjointWith, URIRef(other)))
    assert missing(graph, expected) == []


@pytest.mark.parametrize(
    "planted",
    [
        "<urn:x> a st:Core, st:Socket .",
        "<urn:x> st:isPartOf <urn:x> .",
        "<urn:x> st:isPartOf <urn:y> . <urn:y> st:isPartOf <urn:x> .",
        "<urn:x> a st:Core ; st:isPartOf <urn:y> . <urn:y> a st:Die ; st:isPartOf "
        "<urn:z> . <urn:z> a st:Socket ; st:isPartOf <urn:x> .",
        "<urn:x> a st:ObservationInterface, st:BenchmarkResult .",
    ],
)
def test_planted_error_is_reported(planted: str) -> None:
    with pytest.raises(InconsistentOntologyError, match="contradicts itself"):
        check(_everything(planted))


def test_ring_of_parts_is_consistent_in_owl_2_dl() -> None:
    """A ring of three things without a class is left to SHACL.

    OWL 2 DL forbids asymmetry to a transitive property, not to its subproperties."""
    ring = " ".join(
        f"<urn:{one}> st:isPartOf <urn:{other}> ." for one, other in ("ab", "bc", "ca")
    )
    check(_everything(ring))


# https://www.w3.org/TR/vocab-ssn/#PROV_Alignment: our users may have loaded this too.
SSN_TO_PROV = """
sosa:Observation rdfs:subClassOf prov:Activity .
sosa:Sensor rdfs:subClassOf prov:Agent, prov:Entity .
sosa:Result a owl:Class ; rdfs:subClassOf prov:Entity .
"""


def test_alignments_agree_with_the_published_ones() -> None:
    check(_everything(SSN_TO_PROV))


def test_result_as_an_entity_would_contradict() -> None:
    wrong = "st:BenchmarkResult rdfs:subClassOf prov:Entity ."
    with pytest.raises(InconsistentOntologyError, match="BenchmarkResult"):
        check(_everything(SSN_TO_PROV + wrong))
