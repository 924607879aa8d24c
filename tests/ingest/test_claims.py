"""Which source wins where sources disagree, and which other values are kept."""

from typing import Any

import pytest
from rdflib import RDF, RDFS, Dataset, Graph, Literal, URIRef

from ingest.conflict_resolution.claims import resolve
from ingest.conflict_resolution.precedence import (
    RULES,
    about_equal,
    same_name,
    same_number,
    same_text,
)
from ingest.load.publish import _record_unchanged
from ingest.schema.schema import Facts
from ingest.sources.memory_slots import memory_slots
from ontology.load import ontology_graph
from ontology.terms import ST
from shapes.validate import validate
from tests.ingest.documents import IRIS, describe_json, document
from tests.ingest.server import server


@pytest.fixture(scope="module")
def graph() -> Graph:
    return describe_json(server(), IRIS).union()


def claimed(graph: Graph, about: URIRef, property_: URIRef) -> dict[str, Any]:
    found = {}
    for claim in graph.objects(about, ST.claims):
        if graph.value(claim, ST.claimedProperty) == property_:
            source = graph.value(claim, ST.claimedBy)
            found[str(graph.value(source, ST.sourceName))] = (
                graph.value(claim, ST.claimedValue).toPython(),
                graph.value(claim, ST.claimWon).toPython(),
            )
    return found


def part(kind: str, name: str) -> URIRef:
    return IRIS.component("n1", kind, name)


def test_description_with_claims_conforms(graph: Graph) -> None:
    assert validate(graph).lines == []


@pytest.mark.parametrize(
    ("about", "property_", "claims"),
    [
        (
            IRIS.host("n1"),
            ST.biosVersion,
            {"board": ("2.1", True), "lshw": ("2.0", False)},
        ),
        (
            IRIS.host("n1"),
            ST.installedMemory,
            {"memory_banks": (64 << 30, True), "lshw": (96 << 30, False)},
        ),
        (
            part("memory", "P0 CHANNEL B DIMM 0"),
            ST.memorySize,
            {"memory_banks": (32 << 30, True), "lshw": (16 << 30, False)},
        ),
        (
            part("nic", "eno1"),
            ST.linkSpeed,
            {"nics": (10**10, True), "lshw": (10**9, False)},
        ),
        (
            part("socket", "socket-4"),
            ST.microcode,
            {"cpu": ("0xa101144", True), "lshw": ("168825105", False)},
        ),
    ],
)
def test_conflicting_values_are_both_kept(
    graph: Graph, about: URIRef, property_: URIRef, claims: dict[str, Any]
) -> None:
    assert claimed(graph, about, property_) == claims
    (winner,) = (value for value, won in claims.values() if won)
    assert list(graph.objects(about, property_)) == [Literal(winner)]


def test_hwloc_has_precedence_for_caches_and_numa_domains(graph: Graph) -> None:
    for about, property_ in (
        (part("cache", "l3-0"), ST.cacheSize),
        (part("numa", "1"), ST.memorySize),
    ):
        claims = claimed(graph, about, property_)
        assert claims["hwloc"][1]
        assert sorted(won for _, won in claims.values()) == [False, True]
        assert list(graph.objects(about, property_)) == [Literal(claims["hwloc"][0])]


def test_agreeing_sources_give_no_claim(graph: Graph) -> None:
    """Truncated names, numbers in another base and letters in another case agree."""
    about = {
        str(s).rpartition("/twin/n1")[2] for s, _ in graph.subject_objects(ST.claims)
    }
    assert about == {
        "",
        "/memory/P0~20CHANNEL~20B~20DIMM~200",
        "/nic/eno1",
        "/socket/socket-4",
        "/cache/l3-0",
        "/cache/l3-4",
        "/numa/1",
    }
    sda = part("disk", "sda")
    assert graph.value(sda, ST.firmwareVersion) == Literal("HXT7904Q")
    assert not claimed(graph, part("nic", "eno1"), ST.macAddress)
    assert not claimed(graph, part("socket", "socket-0"), ST.microcode)


def test_claims_are_made_for_described_components_only() -> None:
    facts = {
        "os": {"memory": 1000},
        "smart": [{"device": "sdz", "model": "A"}],
        "lshw": {"disks": [{"name": "sdz", "model": "B"}]},
    }
    described = describe_json(document(facts), IRIS).union()
    assert not list(described.subjects(RDF.type, ST.Claim))


def test_missing_source_makes_no_claim() -> None:
    facts = server()
    facts["sources"].pop("lshw")
    described = describe_json(facts, IRIS).union()
    assert validate(described).lines == []
    assert not claimed(described, part("nic", "eno1"), ST.linkSpeed).get("lshw")


def test_value_of_a_later_source_fills_a_gap() -> None:
    found = {"lshw": {"bios": {"version": "2.0"}}, "hwloc": None}
    facts = Facts.model_validate(found)
    assert resolve(facts, RULES).of() == {ST.biosVersion: "2.0"}
    assert resolve(facts, RULES).claims == []


# rdflib's own code still calls deprecated functions.
@pytest.mark.filterwarnings("ignore:Dataset.(default_context|contexts) is deprecated")
def test_unchanged_machine_keeps_one_source_per_claim() -> None:
    first = describe_json(server(), IRIS)
    later = describe_json({**server(), "started": "2027-01-01T00:00:00Z"}, IRIS)
    assert first.digest == later.digest
    store = Dataset(default_union=True)
    twin = store.graph(IRIS.twin_graph("n1"))
    for triple in [*first.twin, *first.probe]:
        twin.add(triple)
    store.update(_record_unchanged(later, IRIS))
    claims = set(twin.subjects(RDF.type, ST.Claim))
    assert claims
    for claim in claims:
        (source,) = twin.objects(claim, ST.claimedBy)
        assert "/source/20270101T000000Z." in source


def test_rules_name_existing_properties_and_each_source_once() -> None:
    ontology = ontology_graph()
    for rule in RULES:
        assert ontology.value(rule.property, RDFS.domain), rule.property
        names = [name for name, _ in rule.sources]
        assert len(names) == len(set(names)) > 1
        assert rule.elsewhere <= {"cpu", "hwloc"}


@pytest.mark.parametrize(
    ("same", "one", "other", "agree"),
    [
        (same_text, "Supermicro ", "SUPERMICRO", True),
        (same_text, "2.1", "2.10", False),
        (same_name, "SAMSUNG MZ7LH480", "SAMSUNG MZ7LH480HAHQ", True),
        (same_name, "HXT7904Q", "904Q", True),
        (same_name, "SAMSUNG MZ7LH480", "MZ7", False),
        (same_number, "0x1000065", "16777317", True),
        (same_number, "0x1000065", "16777318", False),
        (same_number, "new", "New", True),
        (about_equal, 1000, 1005, True),
        (about_equal, 1000, 1100, False),
    ],
)
def test_spellings_of_equal_values_agree(
    same: Any, one: Any, other: Any, agree: bool
) -> None:
    assert same(one, other) == same(other, one) == agree


def test_slots_keep_their_names_when_a_module_is_removed() -> None:
    facts = server()["facts"]
    names = [slot.name for slot in memory_slots(Facts.model_validate(facts))]
    assert names == ["P0 CHANNEL A DIMM 0", "P0 CHANNEL B DIMM 0", "DIMM 1"]
    facts["memory_banks"][0] |= {"empty": True, "size": None}
    slots = memory_slots(Facts.model_validate(facts))
    assert [slot.name for slot in slots] == names


def test_indistinguishable_slots_are_numbered() -> None:
    banks = [{"slot": "DIMM", "size": 1}, {"slot": "DIMM", "size": None}, {"size": 2}]
    facts = {"lshw": {"memory_banks": banks}}
    slots = memory_slots(Facts.model_validate(facts))
    assert [slot.name for slot in slots] == ["DIMM", "DIMM-1", "bank-2"]
    assert [slot.empty for slot in slots] == [False, True, False]
