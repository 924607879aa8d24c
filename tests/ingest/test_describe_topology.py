"""The described graph of a topology agrees with hwloc's own tools."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, Graph, Literal, URIRef

from ingest.hwloc.read import parse_hwloc
from ontology.terms import ST
from queries.catalogue import saved_query
from tests.ingest.documents import IRIS, describe_json, document, synthetic

HWLOC_OBJECTS = {
    ("L1", ST.DataCache): "L1d:all",
    ("L2", ST.UnifiedCache): "L2:all",
    ("L3", ST.UnifiedCache): "L3:all",
}


def groups(graph: Graph, level: int, kind: URIRef) -> list[list[int]]:
    """OS indexes of the threads of each cache of one level and type."""
    return sorted(
        sorted(
            int(graph.value(thread, ST.osIndex))
            for thread in graph.subjects(ST.usesCache, cache)
        )
        for cache in graph.subjects(ST.cacheLevel, Literal(level))
        if (cache, ST.cacheType, kind) in graph
    )


def hwloc_groups(path: Path, objects: str) -> list[list[int]]:
    """The same groups from hwloc-calc."""
    depth = objects.split(":")[0]
    count = subprocess.run(
        ["hwloc-calc", "-i", path, "-N", depth, "all"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = []
    for number in range(int(count)):
        listed = subprocess.run(
            ["hwloc-calc", "-i", path, "--po", "-I", "PU", f"{depth}:{number}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found.append(sorted(int(index) for index in listed.strip().split(",")))
    return sorted(found)


counts = st.integers(1, 3)


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(pack=counts, l3=counts, l2=counts, core=counts, pu=st.integers(1, 2))
def test_cache_groups_equal_those_of_hwloc(
    tmp_path: Path, pack: int, l3: int, l2: int, core: int, pu: int
) -> None:
    path = tmp_path / "topology.xml"
    path.write_bytes(
        synthetic(f"pack:{pack} numa:1 l3:{l3} l2:{l2} core:{core} l1d:1 pu:{pu}")
    )
    description = describe_json(
        document({"hwloc": parse_hwloc(path.read_bytes())}), IRIS
    )
    graph = description.union()
    for (level, kind), objects in HWLOC_OBJECTS.items():
        assert groups(graph, int(level[1]), kind) == hwloc_groups(path, objects)


def test_every_thread_is_part_of_a_core_a_socket_and_the_host() -> None:
    topology = parse_hwloc(synthetic("pack:2 numa:2 l3:2 l2:2 core:2 pu:2"))
    graph = describe_json(document({"hwloc": topology}), IRIS).union()
    threads = list(graph.subjects(RDF.type, ST.HardwareThread))
    assert len(threads) == 64
    for thread in threads:
        chain = list(graph.transitive_objects(thread, ST.isPartOf))[1:]
        kinds = [graph.value(node, RDF.type) for node in chain]
        assert kinds == [ST.Core, ST.Socket, ST.ComputeNode]


def test_caches_and_numa_domains_are_never_parents() -> None:
    topology = parse_hwloc(synthetic("pack:2 numa:2 l3:2 l2:2 core:2 pu:2"))
    graph = describe_json(document({"hwloc": topology}), IRIS).union()
    parents = {graph.value(node, RDF.type) for node in graph.objects(None, ST.isPartOf)}
    assert parents == {ST.ComputeNode, ST.Socket, ST.Core}


def test_repeated_os_indexes_give_separate_cores() -> None:
    topology = parse_hwloc(synthetic("pack:2 core:2 pu:2"))
    for core in topology["cores"]:
        core["os_index"] %= 2
    graph = describe_json(document({"hwloc": topology}), IRIS).union()
    assert len(set(graph.subjects(RDF.type, ST.Core))) == 4


@pytest.mark.parametrize(
    ("level", "type_", "name"),
    [(1, "data", "l1d-0"), (1, "instruction", "l1i-0"), (3, "unified", "l3-0")],
)
def test_cache_has_its_facts(level: int, type_: str, name: str) -> None:
    cache = {
        "level": level,
        "type": type_,
        "size": 49152,
        "line": 64,
        "ways": 12,
        "sets": 64,
        "inclusive": False,
        "threads": [0, 1],
    }
    topology = parse_hwloc(synthetic("pack:1 core:1 pu:2")) | {"caches": [cache]}
    graph = describe_json(document({"hwloc": topology}), IRIS).union()
    iri = IRIS.component("n1", "cache", name)
    assert graph.value(iri, ST.cacheSize) == Literal(49152)
    assert graph.value(iri, ST.associativity) == Literal(12)
    assert graph.value(iri, ST.cacheSets) == Literal(64)
    assert graph.value(iri, ST.inclusive) == Literal(False)


def test_cores_have_clocks_that_the_saved_query_finds() -> None:
    clock = {"base": 2_000_000_000, "min": 800_000_000, "max": 3_000_000_000}
    clocks = {
        "1": {**clock, "governor": "powersave"},
        "2": {**clock, "max": 3_500_000_000, "governor": "performance"},
        "4": clock,
    }
    topology = parse_hwloc(synthetic("pack:2 core:2 pu:2"))
    graph = describe_json(document({"hwloc": topology, "clocks": clocks}), IRIS).union()
    rows = graph.query(saved_query("inventory/cpu").bind({}))
    assert [[term and term.toPython() for term in row][7:] for row in rows] == [
        [800_000_000, 2_000_000_000, 3_500_000_000, "performance powersave"],
        [800_000_000, 2_000_000_000, 3_000_000_000, None],
    ]


def test_arm_socket_has_the_numbers_read_by_hwloc() -> None:
    numbers = {
        "CPUImplementer": ("0x41", ST.cpuVendor),
        "CPUArchitecture": ("8", ST.cpuFamily),
        "CPUPart": ("0xd0c", ST.cpuModelNumber),
        "CPURevision": ("1", ST.stepping),
    }
    info = "".join(
        f'<info name="{name}" value="{value}"/>' for name, (value, _) in numbers.items()
    )
    text = synthetic("pack:1 core:2 pu:1").decode()
    text = re.sub(r'(<object type="Package"[^>]*>)', rf"\1{info}", text)
    facts = {"hwloc": parse_hwloc(text.encode())}
    graph = describe_json(document(facts), IRIS).union()
    for value, term in numbers.values():
        assert [str(found) for found in graph.objects(None, term)] == [value]
