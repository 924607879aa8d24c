"""Memory modules, disks, TLBs and set-up of a host in the graph."""

from typing import Any

import pytest
from rdflib import RDF, Graph, URIRef

from ingest.errors import ProbeDocumentError
from ingest.schema.check import check_document
from ontology.terms import ST
from shapes.validate import validate
from tests.ingest.documents import IRIS, describe_json, document
from tests.ingest.server import server


@pytest.fixture(scope="module")
def graph() -> Graph:
    return describe_json(server(), IRIS).union()


def part(kind: str, name: str) -> URIRef:
    return IRIS.component("n1", kind, name)


def says(graph: Graph, about: URIRef, *properties: URIRef) -> list[Any]:
    values = [graph.value(about, property_) for property_ in properties]
    return [None if value is None else value.toPython() for value in values]


def test_filled_and_empty_memory_slots_are_described(graph: Graph) -> None:
    bank = part("memory", "P0 CHANNEL A DIMM 0")
    assert says(graph, bank, ST.slot, ST.bankLocator, ST.memoryType, ST.rank) == [
        "DIMM 0",
        "P0 CHANNEL A",
        "DDR5",
        2,
    ]
    # The clock that lshw reports is the configured rate.
    rates = (ST.transferRate, ST.configuredTransferRate, ST.clockRate)
    assert says(graph, bank, *rates) == [5_600_000_000, 4_800_000_000, 4_800_000_000]
    empty = part("memory", "DIMM 1")
    assert list(graph.objects(empty, RDF.type)) == [ST.EmptyMemorySlot]
    assert says(graph, empty, ST.bankLocator, ST.memorySize) == ["P0 CHANNEL A", None]


def test_banks_known_only_to_lshw_are_described() -> None:
    facts = server()
    facts["facts"].pop("memory_banks")
    found = describe_json(facts, IRIS).union()
    bank = part("memory", "DIMM 0")
    known = (ST.memoryType, ST.formFactor, ST.memorySize)
    assert says(found, bank, *known) == ["DDR5", "DIMM", 32 << 30]


def test_mig_devices_of_a_gpu_are_described(graph: Graph) -> None:
    gpu, mig = part("gpu", "0000:18:00.0"), part("gpu", "0000:18:00.0.0")
    facts = (ST.businfo, ST.memorySize, ST.migEnabled, ST.gpuIndex)
    assert says(graph, gpu, *facts) == ["pci@0000:18:00.0", 81559 << 20, True, 0]
    assert graph.value(mig, ST.isPartOf) == gpu
    assert says(graph, mig, ST.gpuInstance, ST.multiprocessorCount) == [1, 60]
    assert says(graph, IRIS.host("n1"), ST.gpuDriver, ST.cudaVersion) == [
        "535.129.03",
        "12.2",
    ]


def test_disk_has_model_health_and_wear(graph: Graph) -> None:
    facts = (ST.model, ST.healthy, ST.wear, ST.queueScheduler, ST.isRotational)
    assert says(graph, part("disk", "sda"), *facts) == [
        "SAMSUNG MZ7LH480HAHQ-00005",
        False,
        97,
        "mq-deadline",
        False,
    ]


def test_each_socket_has_its_tlbs(graph: Graph) -> None:
    tlbs = set(graph.subjects(RDF.type, ST.Tlb))
    assert len(tlbs) == 4
    second = part("tlb", "socket-4.l2.data.4K")
    assert graph.value(second, ST.isPartOf) == part("socket", "socket-4")
    facts = (ST.tlbLevel, ST.tlbEntries, ST.tlbWays, ST.fullyAssociative)
    assert says(graph, second, *facts) == [2, 3072, 8, None]


def test_tlbs_without_sockets_belong_to_the_host() -> None:
    tlbs = server()["facts"]["tlbs"]
    found = describe_json(document({"tlbs": tlbs}), IRIS).union()
    assert set(found.objects(None, ST.isPartOf)) == {IRIS.host("n1")}
    assert validate(found).lines == []


def test_threads_have_their_state(graph: Graph) -> None:
    facts = (ST.online, ST.allowed, ST.isolated)
    assert says(graph, part("thread", "0"), *facts) == [True, True, None]
    assert says(graph, part("thread", "7"), *facts) == [True, True, True]
    # hwloc does not show thread 8: it is offline.
    assert says(graph, part("thread", "8"), *facts) == [False, False, None]
    assert graph.value(part("thread", "8"), ST.isPartOf) == IRIS.host("n1")
    assert says(graph, part("thread", "3"), ST.threadMicrocode) == ["0xa101111"]
    assert says(graph, part("thread", "2"), ST.threadMicrocode) == [None]


def test_host_has_its_setup(graph: Graph) -> None:
    node = IRIS.host("n1")
    facts = (ST.smtActive, ST.smtControl, ST.frequencyDriver, ST.boostEnabled)
    assert says(graph, node, *facts) == [True, "on", "amd-pstate-epp", False]
    assert says(graph, node, ST.cgroupLayout, ST.transparentHugePages) == [
        "v2",
        "madvise",
    ]
    assert {str(o) for o in graph.objects(node, ST.kernelOption)} == {
        "quiet",
        "isolcpus=7",
    }
    hierarchy = part("cgroup", "/sys/fs/cgroup")
    assert says(graph, hierarchy, ST.cgroupVersion, ST.enabledController) == [
        2,
        "memory",
    ]
    assert says(graph, part("swap", "/dev/sda2"), ST.swapPriority) == [-2]


def test_huge_pages_of_host_and_domains_are_described(graph: Graph) -> None:
    pools = {
        str(s).rpartition("/")[2] for s in graph.subjects(RDF.type, ST.HugePagePool)
    }
    assert pools == {"2M", "1G", "1G.numa-1"}
    pool = part("hugepages", "1G.numa-1")
    assert graph.value(pool, ST.ofNumaDomain) == part("numa", "1")
    assert says(graph, pool, ST.pageCount) == [8]


def test_agents_of_pcp_are_described(graph: Graph) -> None:
    agent = part("pmda", "linux")
    assert says(graph, agent, ST.pmdaName, ST.metricDomain) == ["linux", 60]
    # Its metrics have its name, once for all hosts.
    assert list(graph.subjects(ST.pmdaName, graph.value(agent, ST.pmdaName)))


def test_forms_of_all_facts_are_checked() -> None:
    for source, broken in (
        ("tlbs", {"tlbs": [{}]}),
        ("memory_banks", [{"slot": 3}]),
        ("gpus", {"gpus": [{"index": "0"}]}),
        ("smart", [{}]),
        ("cpu_state", {"lists": {"online": ["0"]}}),
        ("memory", {"swap": [{"size": 1}]}),
        ("cgroups", {"hierarchies": [{"path": ""}]}),
        ("kernel_options", [1]),
        ("cache_sets", [{"level": 1}]),
    ):
        facts = server()
        facts["facts"][source] = broken
        with pytest.raises(ProbeDocumentError, match=f"facts.{source}"):
            check_document(facts)
