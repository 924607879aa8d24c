"""Devices are described once, even if several sources report them."""

from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, Graph, Literal, URIRef

from ingest.hwloc.read import parse_hwloc
from ontology.terms import ST
from tests.ingest.documents import IRIS, describe_json, document

FACTS = parse_hwloc((Path(__file__).parent / "machines/everything.v3.xml").read_bytes())
GPU = {
    "index": 0,
    "busid": "0000:01:00.0",
    "name": "Made Up GPU",
    "uuid": "GPU-1",
    "partitions": [],
}


def graph(**more: Any) -> Graph:
    facts = {"hwloc": FACTS, **more}
    return describe_json(document(facts), IRIS).twin.graph()


def iri(kind: str, name: str) -> URIRef:
    return IRIS.component("n1", kind, name)


def test_bridges_form_a_tree() -> None:
    found = graph()
    bridge, gpu = iri("pci", "0000:00:01.0"), iri("pci", "0000:01:00.0")
    assert found.value(gpu, ST.isPartOf) == bridge
    assert found.value(bridge, ST.isPartOf) == IRIS.host("n1")
    assert found.value(bridge, RDF.type) == ST.PciBridge
    assert found.value(gpu, ST.nearTo) == iri("socket", "socket-0")
    assert set(found.objects(gpu, ST.nearDomain)) == {iri("numa", "0")}


def test_devices_known_only_to_hwloc_are_described() -> None:
    found = graph()
    assert found.value(iri("disk", "sda"), ST.diskSize)
    assert found.value(iri("nic", "ib0"), ST.onPciDevice) == iri("pci", "0001:80:00.0")
    assert found.value(iri("gpu", "0000:01:00.0"), ST.memorySize) == Literal(8 << 30)
    kinds = set(map(str, found.objects(iri("osdev", "mlx5_0"), ST.deviceKind)))
    assert kinds == {"network", "openfabrics"}


def test_devices_of_other_sources_are_only_linked() -> None:
    nic = {"name": "ib0", "mac": None, "up": True, "virtual": False}
    disk = {"name": "sda", "size": 7, "rotational": False}
    found = graph(nics=[nic], disks=[disk])
    assert found.value(iri("nic", "ib0"), ST.macAddress) is None
    assert list(found.objects(None, ST.diskSize)) == [Literal(7)]
    assert found.value(iri("disk", "sda"), ST.onPciDevice)


def test_gpu_is_one_node_for_all_sources() -> None:
    found = graph(gpus={"driver": "1", "cuda": None, "gpus": [GPU]})
    [gpu] = found.subjects(RDF.type, ST.Gpu)
    assert found.value(gpu, ST.onPciDevice) == iri("pci", "0000:01:00.0")


@pytest.mark.parametrize(
    ("code", "vendor", "driver", "gpus"),
    [
        ("0300", "10de", False, 1),  # a GeForce
        ("0300", "1a03", False, 0),  # a board's management controller
        ("0380", "1002", False, 1),
        ("1200", "1d0f", False, 1),
        ("0200", "10de", False, 0),
        ("0300", "1a03", True, 1),  # whatever its class, the driver knows it
        (None, None, False, 0),
    ],
)
def test_gpu_is_recognised_by_class_vendor_or_driver(
    code: str | None, vendor: str | None, driver: bool, gpus: int
) -> None:
    [device] = [pci for pci in FACTS["pci"] if pci["busid"] == "0000:01:00.0"]
    device = {**device, "class_id": code, "vendor_id": vendor, "os_devices": []}
    facts: dict[str, Any] = {"hwloc": {**FACTS, "pci": [device]}}
    if driver:
        facts["gpus"] = {"driver": "1", "cuda": None, "gpus": [GPU]}
    found = describe_json(document(facts), IRIS).twin.graph()
    described = list(found.subjects(RDF.type, ST.Gpu))
    assert len(described) == gpus
    for gpu in described:
        assert found.value(gpu, ST.onPciDevice) == iri("pci", "0000:01:00.0")


@pytest.mark.parametrize("parent", ["0000:01:00.0", "nowhere", None])
def test_invalid_parent_bridge_is_not_the_container(parent: str | None) -> None:
    [gpu] = [pci for pci in FACTS["pci"] if pci["busid"] == "0000:01:00.0"]
    facts = {**FACTS, "pci": [{**gpu, "parent": parent}]}
    found = describe_json(document({"hwloc": facts}), IRIS).twin.graph()
    device = iri("pci", "0000:01:00.0")
    assert found.value(device, ST.isPartOf) == IRIS.host("n1")


def test_machine_with_one_kind_of_cores_has_no_kinds() -> None:
    alone = {**FACTS, "kinds": FACTS["kinds"][:1]}
    found = describe_json(document({"hwloc": alone}), IRIS).twin.graph()
    assert not list(found.subjects(RDF.type, ST.CpuKind))
    assert not list(found.objects(None, ST.ofCpuKind))


def test_description_of_a_large_machine_is_small() -> None:
    """Locality is stated for containers, not for every thread."""
    threads = [{"os_index": cpu, "allowed": True} for cpu in range(384)]
    everywhere = list(range(384))
    device = {**FACTS["pci"][1], "parent": None, "os_devices": []}
    many = [
        {**device, "busid": f"0000:{bus:02x}:00.0", "threads": everywhere}
        for bus in range(200)
    ]
    nothing: dict[str, Any] = dict.fromkeys(FACTS, [])
    facts = {**nothing, "threads": threads, "pci": many, "info": {}, "xml": None}
    facts |= {"version": "3.0", "numa": [{**FACTS["numa"][0], "threads": everywhere}]}
    twin = describe_json(document({"hwloc": facts}), IRIS).twin
    assert len(twin) < 384 * 6 + 200 * 22 + 50
