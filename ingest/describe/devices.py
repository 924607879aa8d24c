"""Describe disks and network interfaces."""

from typing import Any

from rdflib import URIRef

from ingest.conflict_resolution.claims import Resolved
from ingest.schema.schema import Facts, NamedDevice
from ingest.schema.setup import Smart
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST

Properties = dict[URIRef, Any]


def describe_devices(
    triples: Triples,
    iris: Iris,
    host: str,
    facts: Facts,
    resolved: Resolved,
) -> dict[str, URIRef]:
    """Describe the devices that the kernel lists; conflicts are settled in `resolved`.

    Returns PCP's instance names of disks and network interfaces with their IRIs.
    """
    described = {}
    smart = {disk.device: disk for disk in facts.smart}
    for disk in facts.disks:
        name = disk.name
        iri = iris.component(host, "disk", name)
        known = resolved.of("disk", name)
        triples.node(iri, ST.Disk, {**_disk(disk), **known}, label=name)
        triples.link(iri, {ST.isPartOf: iris.host(host), **_smart(smart.get(name))})
        described[name] = iri
    for nic in facts.nics:
        name = nic.name
        iri = iris.component(host, "nic", name)
        known = resolved.of("nic", name)
        triples.node(iri, ST.NetworkInterface, {**_nic(nic), **known}, label=name)
        triples.link(iri, {ST.isPartOf: iris.host(host)})
        described[name] = iri
    return described


def _disk(disk: NamedDevice) -> Properties:
    queue = disk.queue
    return {
        ST.deviceName: disk.name,
        ST.isRotational: disk.rotational,
        ST.queueScheduler: queue.scheduler,
        ST.queueDepth: queue.depth,
        ST.logicalBlockSize: queue.logical_block,
        ST.physicalBlockSize: queue.physical_block,
        ST.readAhead: queue.read_ahead,
        ST.writeCache: queue.write_cache,
        ST.discards: queue.discards,
        ST.zoneModel: queue.zoned,
    }


def _smart(disk: Smart | None) -> Properties:
    if disk is None:
        return {}
    return {
        ST.diskProtocol: disk.protocol,
        ST.modelFamily: disk.family,
        ST.formFactor: disk.form_factor,
        ST.rotationRate: disk.rotation_rate,
        ST.selfTests: disk.self_test,
        ST.healthy: disk.healthy,
        ST.wear: disk.wear,
    }


def _nic(nic: NamedDevice) -> Properties:
    return {
        ST.deviceName: nic.name,
        ST.linkUp: nic.up,
        ST.duplex: nic.duplex,
        ST.mtu: nic.mtu,
        ST.isVirtual: nic.virtual,
        ST.ipv6Address: nic.ipv6,
    }
