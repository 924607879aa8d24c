"""Describe disks and network interfaces."""

from typing import Any

from rdflib import URIRef

from ingest.conflict_resolution.claims import Resolved
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST

Entry = dict[str, Any]
Properties = dict[URIRef, Any]


def describe_devices(
    triples: Triples,
    iris: Iris,
    host: str,
    facts: dict[str, Any],
    resolved: Resolved,
) -> dict[str, URIRef]:
    """Describe the devices that the kernel lists; conflicts are settled in `resolved`.

    Returns PCP's instance names of disks and network interfaces with their IRIs.
    """
    described = {}
    smart = {disk["device"]: disk for disk in facts.get("smart") or []}
    for disk in facts.get("disks") or []:
        name = disk["name"]
        iri = iris.component(host, "disk", name)
        known = resolved.of("disk", name)
        triples.node(iri, ST.Disk, {**_disk(disk), **known}, label=name)
        triples.link(iri, {ST.isPartOf: iris.host(host), **_smart(smart.get(name))})
        described[name] = iri
    for nic in facts.get("nics") or []:
        name = nic["name"]
        iri = iris.component(host, "nic", name)
        known = resolved.of("nic", name)
        triples.node(iri, ST.NetworkInterface, {**_nic(nic), **known}, label=name)
        triples.link(iri, {ST.isPartOf: iris.host(host)})
        described[name] = iri
    return described


def _disk(disk: Entry) -> Properties:
    queue = disk.get("queue") or {}
    return {
        ST.deviceName: disk["name"],
        ST.isRotational: disk.get("rotational"),
        ST.queueScheduler: queue.get("scheduler"),
        ST.queueDepth: queue.get("depth"),
        ST.logicalBlockSize: queue.get("logical_block"),
        ST.physicalBlockSize: queue.get("physical_block"),
        ST.readAhead: queue.get("read_ahead"),
        ST.writeCache: queue.get("write_cache"),
        ST.discards: queue.get("discards"),
        ST.zoneModel: queue.get("zoned"),
    }


def _smart(disk: Entry | None) -> Properties:
    facts = disk or {}
    return {
        ST.diskProtocol: facts.get("protocol"),
        ST.modelFamily: facts.get("family"),
        ST.formFactor: facts.get("form_factor"),
        ST.rotationRate: facts.get("rotation_rate"),
        ST.selfTests: facts.get("self_test"),
        ST.healthy: facts.get("healthy"),
        ST.wear: facts.get("wear"),
    }


def _nic(nic: Entry) -> Properties:
    return {
        ST.deviceName: nic["name"],
        ST.linkUp: nic.get("up"),
        ST.duplex: nic.get("duplex"),
        ST.mtu: nic.get("mtu"),
        ST.isVirtual: nic.get("virtual"),
        ST.ipv6Address: nic.get("ipv6") or [],
    }
