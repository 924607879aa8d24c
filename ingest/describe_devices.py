"""Memory banks, disks and network interfaces."""

from typing import Any

from rdflib import URIRef

from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST

Entry = dict[str, Any]


def describe_devices(
    triples: Triples, iris: Iris, host: str, facts: dict[str, Any]
) -> dict[str, URIRef]:
    """Describe the devices; the answer maps PCP's instance names to disks and NICs."""
    lshw = facts.get("lshw") or {}
    _memory_banks(triples, iris, host, lshw.get("memory_banks") or [])
    disks = _joined(facts.get("disks") or [], lshw.get("disks") or [])
    nics = _joined(facts.get("nics") or [], lshw.get("nics") or [])
    names = {disk["name"]: _disk(triples, iris, host, disk) for disk in disks}
    return names | {nic["name"]: _nic(triples, iris, host, nic) for nic in nics}


def _joined(kernel: list[Entry], lshw: list[Entry]) -> list[Entry]:
    """What the kernel lists, filled in by lshw; the kernel wins where both speak."""
    extra = {entry.get("name"): entry for entry in lshw}
    return [
        {
            **extra.get(entry["name"], {}),
            **{k: v for k, v in entry.items() if v is not None},
        }
        for entry in kernel
    ]


def _memory_banks(triples: Triples, iris: Iris, host: str, banks: list[Entry]) -> None:
    taken: set[str] = set()
    for number, bank in enumerate(banks):
        slot = bank.get("slot") or f"bank-{number}"
        # two boards are known that name all their slots alike
        name = slot if slot not in taken else f"{slot}-{number}"
        taken.add(name)
        triples.node(
            iris.component(host, "memory", name),
            ST.MemoryBank,
            {
                ST.slot: slot,
                ST.memorySize: bank.get("size"),
                ST.clockRate: bank.get("clock"),
                ST.memoryType: bank.get("description"),
                ST.vendor: bank.get("vendor"),
                ST.model: bank.get("model"),
                ST.serialNumber: bank.get("serial"),
                ST.isPartOf: iris.host(host),
            },
            label=f"memory bank {slot}",
        )


def _disk(triples: Triples, iris: Iris, host: str, disk: Entry) -> URIRef:
    return triples.node(
        iris.component(host, "disk", disk["name"]),
        ST.Disk,
        {
            ST.deviceName: disk["name"],
            ST.diskSize: disk.get("size"),
            ST.isRotational: disk.get("rotational"),
            ST.model: disk.get("model"),
            ST.serialNumber: disk.get("serial"),
            ST.vendor: disk.get("vendor"),
            ST.firmwareVersion: disk.get("firmware"),
            ST.isPartOf: iris.host(host),
        },
        label=disk["name"],
    )


def _nic(triples: Triples, iris: Iris, host: str, nic: Entry) -> URIRef:
    return triples.node(
        iris.component(host, "nic", nic["name"]),
        ST.NetworkInterface,
        {
            ST.deviceName: nic["name"],
            ST.macAddress: nic.get("mac"),
            ST.linkSpeed: nic.get("speed"),
            ST.linkUp: nic.get("up"),
            ST.isVirtual: nic.get("virtual"),
            ST.driver: nic.get("driver"),
            ST.firmwareVersion: nic.get("firmware"),
            ST.ipv4Address: nic.get("ipv4"),
            ST.businfo: nic.get("businfo"),
            ST.model: nic.get("model"),
            ST.serialNumber: nic.get("serial"),
            ST.vendor: nic.get("vendor"),
            ST.isPartOf: iris.host(host),
        },
        label=nic["name"],
    )
