"""HermiT over the ontology as it is, and with planted faults."""

from dataclasses import replace
from datetime import UTC, datetime

import jpype
import pytest
from rdflib import Graph

from observations.accuracy import Accuracy, describe_accuracy
from observations.describe import describe_observation
from observations.record import DerivedFigure, Observation, Run, RunSpec, Summary
from observations.statistics import Span, Statistics
from ontology.classify import InconsistentOntologyError
from ontology.iris import Iris
from ontology.load import alignment_graph, ontology_graph
from tests.ontology.consistency import check
from tests.ontology.owlapi import ReasonerError

PREFIXES = """
@prefix st: <https://w3id.org/supertwin/ns#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def _with(planted: str) -> Graph:
    return ontology_graph() + Graph().parse(data=PREFIXES + planted, format="turtle")


HOST = """
<urn:n1> a st:ComputeNode ; st:hostname "n1" ; st:memorySize 1024 .
<urn:s> a st:Socket ; st:isPartOf <urn:n1> ; st:osIndex 0 .
<urn:c> a st:Core ; st:isPartOf <urn:s> ; st:osIndex 0 .
<urn:t> a st:HardwareThread ; st:isPartOf <urn:c> ; st:osIndex 0 ;
    st:allowed true ; st:usesCache <urn:l2> .
<urn:l2> a st:Cache ; st:cacheType st:UnifiedCache ; st:cacheLevel 2 ;
    st:isPartOf <urn:c> .
<urn:p> a st:SamplingPlan ; st:period 1.0 ; st:ofHost <urn:n1> .
"""


def test_ontology_alignments_a_host_and_a_run_are_consistent() -> None:
    """All together: a contradiction in a part is also one in the whole."""
    iris, metric = Iris("http://n.example"), "perfevent.hwcounters.skx__X.value"
    asked = RunSpec(
        "n1", ("solve", "-n"), (0,), "compact", ("night",), "/tmp", by="ana"
    )  # noqa: S108
    asked = replace(
        asked,
        pinning_queries=("http://n.example/queries/pinning/threads",),
        metrics=(metric,),
        roles=("FLOPs",),
        events=("skx::X",),
        environment={"A": "b"},
        group="g",
        timeout=1.0,
    )
    usage = {"user_seconds": 0.5, "system_seconds": 0.1, "max_rss_kib": 1024}
    usage |= dict.fromkeys(("minor_faults", "major_faults"), 1)
    usage |= dict.fromkeys(("voluntary_switches", "involuntary_switches"), 1)
    ended = {"exit": 0, "signal": None, "timed_out": False, "cancelled": ""}
    started = {"pid": 7, "start_ticks": 8, "boot": "b", "user": "ana"}
    about = {"program": {"path": "/x"}, "system": {"kernel": "6.1"}, "governors": ["x"]}
    run = Run(
        started,
        Span(1000.0, 2000.0),
        {**ended, "rusage": usage, "left_behind": [{"name": "x"}]},
        {**about, "kernel_arguments": [], "environment": {"OMP_X": "1"}},
    )
    figures = Statistics(2, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.1)
    summary = Summary(metric, str(iris.metric(metric)), "cpu0", figures)
    unit = "http://qudt.org/vocab/unit/UNITLESS"
    ipc = DerivedFigure("IPC", ("Instructions", "Cycles"), unit, 1.5, 1.1)
    none = DerivedFigure("FLOPs", ("FLOPs",), unit, reason="not counted")
    names = {metric: summary.metric_iri}
    recorded = Observation("o1", asked, run, names, [summary], [ipc, none])
    one = Accuracy("skx", "X", "Loads", "sum", 1.0, 1.0, 0.1, (iris.observation("o1"),))
    now = datetime(2026, 11, 22, tzinfo=UTC)
    graph = describe_observation(recorded, iris).graph()
    graph += describe_accuracy("n1", [one], now, iris).graph()
    check(_with(HOST) + alignment_graph() + graph)
    wrong = f"<{iris.observation('o1')}> st:hasFigure <{iris.host('n1')}> ."
    wrong += f"<{iris.host('n1')}> a st:ComputeNode ."
    with pytest.raises(InconsistentOntologyError):
        check(_with(wrong) + alignment_graph() + graph)


@pytest.mark.parametrize(
    ("planted", "named"),
    [
        ("st:Odd a owl:Class ; rdfs:subClassOf st:Core, st:Cache .", "ns#Odd"),
        ("st:Core rdfs:subClassOf st:PmuEvent .", "ns#Core"),
    ],
)
def test_unsatisfiable_class_is_named(planted: str, named: str) -> None:
    with pytest.raises(InconsistentOntologyError, match=named) as caught:
        check(_with(planted))
    assert "owl#Nothing" not in str(caught.value)


@pytest.mark.parametrize(
    "planted",
    [
        "<urn:x> a st:Core, st:Cache .",
        "<urn:t> a st:HardwareThread ; st:isPartOf <urn:c> . <urn:c> a st:Cache .",
        "<urn:a> st:isPartOf <urn:b> . <urn:b> st:isPartOf <urn:a> .",
        "<urn:t> a st:HardwareThread ; st:osIndex 3, 4 .",
        "<urn:h> a st:ComputeNode ; st:isPartOf <urn:other> .",
        "<urn:m> a st:Metric ; st:semantics st:Counter, st:Instant .",
        "<urn:t> a st:Core ; st:usesCache <urn:l2> .",
    ],
)
def test_contradiction_is_reported(planted: str) -> None:
    with pytest.raises(InconsistentOntologyError, match="contradicts itself"):
        check(_with(planted))


def test_axiom_outside_owl_2_dl_is_refused_in_one_line() -> None:
    with pytest.raises(ReasonerError, match="Non-simple property") as caught:
        check(_with("st:isWithin a owl:FunctionalProperty ."))
    assert len(str(caught.value).splitlines()) == 1


def test_checks_are_independent() -> None:
    with pytest.raises(InconsistentOntologyError):
        check(_with("st:Odd a owl:Class ; rdfs:subClassOf st:Core, st:Cache ."))
    check(ontology_graph())


def test_imports_are_not_fetched() -> None:
    check(_with("<urn:o> a owl:Ontology ; owl:imports <http://127.0.0.1:1/none> ."))


def test_missing_java_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_found() -> str:
        raise jpype.JVMNotFoundException("none")

    monkeypatch.setattr(jpype, "isJVMStarted", lambda: False)
    monkeypatch.setattr(jpype, "getDefaultJVMPath", none_found)
    with pytest.raises(ReasonerError, match="install Java"):
        check(ontology_graph())
