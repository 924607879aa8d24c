"""The described graph says of a topology what hwloc's own tools say of it."""

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, Graph, Literal, URIRef

from ingest.describe import Description, describe
from ingest.errors import DocumentError
from ingest.hwloc import parse_hwloc
from ontology.iris import Iris
from ontology.terms import QUDT, ST, UNIT

IRIS = Iris("http://localhost:8000")
HWLOC_OBJECTS = {
    ("L1", ST.DataCache): "L1d:all",
    ("L2", ST.UnifiedCache): "L2:all",
    ("L3", ST.UnifiedCache): "L3:all",
}


def synthetic(text: str) -> bytes:
    return subprocess.run(
        ["lstopo-no-graphics", "--input", text, "--of", "xml"],
        capture_output=True,
        check=True,
    ).stdout


def document(facts: dict[str, Any], host: str = "n1") -> dict[str, Any]:
    return {
        "format": "supertwin-probe/1",
        "host": host,
        "started": "2026-11-21T00:00:00Z",
        "ended": "2026-11-21T00:00:02Z",
        "sources": {
            "hwloc": {"ok": True, "seconds": 0.1, "reason": None},
            "lshw": {"ok": False, "seconds": 0.0, "reason": "lshw is not installed"},
        },
        "facts": facts,
    }


PCP = {
    "metrics": [
        {
            "name": "kernel.percpu.cpu.user",
            "pmid": "60.0.0",
            "type": "u64",
            "semantics": "counter",
            "units": "millisec",
            "indom": "60.0",
            "help": "percpu user CPU time",
        },
        {
            "name": "mem.util.free",
            "pmid": "60.1.4",
            "type": "u64",
            "semantics": "instant",
            "units": "Kbyte",
            "indom": None,
            "help": "free memory",
        },
        {
            "name": "proc.psinfo.rss",
            "pmid": "3.8.22",
            "type": "u32",
            "semantics": "instant",
            "units": "Kbyte",
            "indom": "3.9",
            "help": "resident set size",
        },
    ],
    "indoms": {
        "60.0": {"stored": True, "count": 2, "instances": [["cpu0", 0], ["cpu1", 1]]},
        "3.9": {"stored": False, "count": 300, "instances": []},
    },
    "pmdas": {"60": "linux", "3": "proc"},
}


def two_threads(**facts: Any) -> Description:
    topology = parse_hwloc(synthetic("pack:1 l2:1 core:1 pu:2"))
    return describe(
        document({"hwloc": topology, "pcp": PCP, **facts}),
        IRIS,
        [metric["name"] for metric in PCP["metrics"]],
    )


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
    """The same by hwloc-calc."""
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
def test_cache_groups_are_hwlocs(
    tmp_path: Path, pack: int, l3: int, l2: int, core: int, pu: int
) -> None:
    path = tmp_path / "topology.xml"
    path.write_bytes(
        synthetic(f"pack:{pack} numa:1 l3:{l3} l2:{l2} core:{core} l1d:1 pu:{pu}")
    )
    description = describe(document({"hwloc": parse_hwloc(path.read_bytes())}), IRIS)
    graph = description.union()
    for (level, kind), objects in HWLOC_OBJECTS.items():
        assert groups(graph, int(level[1]), kind) == hwloc_groups(path, objects)


def test_every_thread_is_part_of_a_core_a_socket_and_the_host() -> None:
    topology = parse_hwloc(synthetic("pack:2 numa:2 l3:2 l2:2 core:2 pu:2"))
    graph = describe(document({"hwloc": topology}), IRIS).union()
    threads = list(graph.subjects(RDF.type, ST.HardwareThread))
    assert len(threads) == 64
    for thread in threads:
        chain = list(graph.transitive_objects(thread, ST.isPartOf))[1:]
        kinds = [graph.value(node, RDF.type) for node in chain]
        assert kinds == [ST.Core, ST.Socket, ST.ComputeNode]


def test_caches_and_numa_domains_are_never_parents() -> None:
    topology = parse_hwloc(synthetic("pack:2 numa:2 l3:2 l2:2 core:2 pu:2"))
    graph = describe(document({"hwloc": topology}), IRIS).union()
    parents = {graph.value(node, RDF.type) for node in graph.objects(None, ST.isPartOf)}
    assert parents == {ST.ComputeNode, ST.Socket, ST.Core}


def test_os_indexes_that_repeat_give_cores_of_their_own() -> None:
    topology = parse_hwloc(synthetic("pack:2 core:2 pu:2"))
    for core in topology["cores"]:
        core["os_index"] %= 2
    graph = describe(document({"hwloc": topology}), IRIS).union()
    assert len(set(graph.subjects(RDF.type, ST.Core))) == 4


def test_an_instance_is_the_thread_that_it_names() -> None:
    graph = two_threads().union()
    instance = IRIS.metric_instance("n1", "60.0", "cpu1")
    assert graph.value(instance, ST.ofComponent) == IRIS.component("n1", "thread", "1")


def test_domains_of_processes_are_named_but_never_stored() -> None:
    description = two_threads()
    graph = description.union()
    assert list(graph.objects(None, ST.resolvesAtFetch)) == [
        IRIS.instance_domain("3.9")
    ]
    assert not list(graph.subjects(ST.inInstanceDomain, IRIS.instance_domain("3.9")))


def test_a_plan_and_its_telemetry() -> None:
    graph = two_threads().plans.graph()
    assert len(set(graph.subjects(RDF.type, ST.SamplingPlan))) == 3
    one = IRIS.telemetry("n1", "kernel.percpu.cpu.user", "cpu1")
    assert graph.value(one, ST.instname) == Literal("cpu1")
    whole = IRIS.telemetry("n1", "mem.util.free", None)
    assert str(whole).endswith("/telemetry/mem.util.free/~")
    assert graph.value(whole, ST.instname) is None
    assert graph.value(whole, ST.ofComponent) == IRIS.host("n1")


def test_units_and_semantics_of_a_metric() -> None:
    graph = two_threads().metrics.graph()
    metric = IRIS.metric("mem.util.free")
    assert graph.value(metric, QUDT.hasUnit) == UNIT.KibiBYTE
    assert graph.value(metric, ST.semantics) == ST.Instant
    assert graph.value(metric, ST.dbName) == Literal("mem_util_free")


def test_a_differing_descriptor_gets_an_iri_of_its_own() -> None:
    same = two_threads()
    known = {m: d._replace(units="byte") for m, d in _descriptors().items()}
    other = describe(document({"pcp": PCP}), IRIS, [], known)
    names = {str(s) for s, _, o in other.metrics if o == ST.Metric}
    assert not names & {str(s) for s, _, o in same.metrics if o == ST.Metric}
    assert all("~~" in name for name in names)
    assert len(describe(document({"pcp": PCP}), IRIS, [], _descriptors()).metrics) > 0


def _descriptors() -> dict[str, Any]:
    from ingest.describe_metrics import Descriptor

    return {metric["name"]: Descriptor.of(metric) for metric in PCP["metrics"]}


def test_the_digest_leaves_the_time_of_the_probe_out() -> None:
    first = document({"pcp": PCP})
    later = {**first, "started": "2027-01-01T00:00:00Z"}
    assert describe(first, IRIS).digest == describe(later, IRIS).digest
    assert describe(first, IRIS).digest != describe(document({}), IRIS).digest


def test_a_failed_source_stands_in_the_graph_with_its_reason() -> None:
    graph = two_threads().union()
    reasons = {str(o) for o in graph.objects(None, ST.reason)}
    assert reasons == {"lshw is not installed"}


def test_a_probe_without_any_facts_is_still_a_host() -> None:
    graph = describe(document({}), IRIS).union()
    assert list(graph.subjects(RDF.type, ST.ComputeNode)) == [IRIS.host("n1")]


def test_names_with_odd_characters_stay_apart() -> None:
    disks = [{"name": "a b"}, {"name": "a_b"}, {"name": 'a"b'}, {"name": "a/b"}]
    graph = describe(document({"disks": disks}), IRIS).union()
    assert len(set(graph.subjects(RDF.type, ST.Disk))) == 4
    graph.parse(data=graph.serialize(format="nt"), format="nt")


def test_memory_banks_with_one_name_stay_apart() -> None:
    banks = [{"slot": "DIMM 0", "size": 1}, {"slot": "DIMM 0", "size": 2}]
    graph = describe(document({"lshw": {"memory_banks": banks}}), IRIS).union()
    assert len(set(graph.subjects(RDF.type, ST.MemoryBank))) == 2


@pytest.mark.parametrize(
    ("level", "type_", "name"),
    [(1, "data", "l1d-0"), (1, "instruction", "l1i-0"), (3, "unified", "l3-0")],
)
def test_cache_facts(level: int, type_: str, name: str) -> None:
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
    graph = describe(document({"hwloc": topology}), IRIS).union()
    iri = IRIS.component("n1", "cache", name)
    assert graph.value(iri, ST.cacheSize) == Literal(49152)
    assert graph.value(iri, ST.associativity) == Literal(12)
    assert graph.value(iri, ST.cacheSets) == Literal(64)
    assert graph.value(iri, ST.inclusive) == Literal(False)


def test_a_metric_of_semantics_unknown_here_is_left_out() -> None:
    odd = {**PCP["metrics"][0], "name": "odd.metric", "semantics": "unknown"}
    pcp = {**PCP, "metrics": [*PCP["metrics"], odd]}
    graph = describe(document({"pcp": pcp}), IRIS, ["odd.metric"]).union()
    assert len(set(graph.subjects(RDF.type, ST.Metric))) == 3
    assert not list(graph.subjects(RDF.type, ST.SamplingPlan))


def damaged(node: Any, choose: random.Random) -> Any:
    """The same facts with one value, somewhere, replaced by another kind of value."""
    inner = list(node.items() if isinstance(node, dict) else enumerate(node))
    if not inner:
        return 7
    key, value = choose.choice(inner)
    deeper = isinstance(value, dict | list) and choose.random() < 0.8
    other = [None, "text", -1, 1.5, [], {}, [[]], {"a": 1}, True, "\ud800", 10**400]
    changed = damaged(value, choose) if deeper else choose.choice(other)
    if isinstance(node, dict):
        return {**node, key: changed}
    return [changed if at == key else kept for at, kept in inner]


def test_facts_of_another_form_are_refused_or_described() -> None:
    topology = parse_hwloc(synthetic("pack:1 numa:1 l3:1 l2:2 core:1 pu:2"))
    whole = {
        "hwloc": topology,
        "pcp": PCP,
        "disks": [{"name": "vda", "size": 1}],
        "nics": [{"name": "eth0", "speed": None}],
        "lshw": {"memory_banks": [{"slot": "A", "size": 1}]},
        "os": {"kernel": "6.1"},
        "cpu": {"sockets": {"0": {"name": "x", "flags": ["a"]}}},
        "pfm": {
            "pmus": [
                {
                    "name": "p",
                    "description": "P",
                    "type": "core",
                    "counters": 4,
                    "fixed_counters": 0,
                    "events": [
                        {"name": "E", "description": "", "code": "0x1", "umasks": []}
                    ],
                }
            ]
        },
    }
    choose = random.Random(7)
    refused = 0
    for _ in range(600):
        try:
            describe(damaged(document(whole), choose), IRIS, ["mem.util.free"]).union()
        except DocumentError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 50 < refused < 550
