"""Describe memory banks, empty slots, and GPUs known to NVIDIA's driver."""

import re
from typing import Any

from rdflib import URIRef

from ingest.conflict_resolution.claims import Resolved
from ingest.sources.memory_slots import SlotReadings, memory_slots
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST

# In lshw's descriptions: "DIMM DDR4 Synchronous Registered (Buffered) 3200 MHz".
_TYPE = re.compile(r"\b(?:LP)?DDR[0-9]?[A-Z]?\b|\bHBM[0-9]?E?\b|\bSDRAM\b")
_FORM = re.compile(r"\b(?:SO|R|LR|U)?DIMM\b|\bFB-DIMM\b")


def describe_memory_banks(
    triples: Triples,
    iris: Iris,
    host: str,
    facts: dict[str, Any],
    resolved: Resolved,
) -> None:
    """Describe every memory slot of the board: a bank, or an empty slot."""
    for slot in memory_slots(facts):
        iri = iris.component(host, "memory", slot.name)
        bank = {} if slot.empty else _bank(slot) | resolved.of("memory", slot.name)
        triples.node(
            iri,
            ST.EmptyMemorySlot if slot.empty else ST.MemoryBank,
            {
                ST.slot: slot.label,
                ST.bankLocator: slot.table.get("bank"),
                ST.isPartOf: iris.host(host),
                **bank,
            },
            label=f"{'empty slot' if slot.empty else 'memory bank'} {slot.name}",
        )


def _bank(slot: SlotReadings) -> dict[URIRef, Any]:
    words = slot.lshw.get("description") or ""
    form, kind = _FORM.search(words), _TYPE.search(words)
    table = slot.table
    return {
        ST.memoryType: table.get("type") or (kind[0] if kind else words),
        ST.moduleTechnology: table.get("technology"),
        ST.formFactor: table.get("form_factor") or (form[0] if form else None),
        ST.transferRate: table.get("speed"),
        ST.configuredTransferRate: table.get("configured_speed"),
        ST.rank: table.get("rank"),
        ST.totalWidth: table.get("total_width"),
        ST.dataWidth: table.get("data_width"),
        ST.assetTag: table.get("asset"),
    }


def describe_gpus(
    triples: Triples, iris: Iris, host: str, facts: dict[str, Any]
) -> dict[str, URIRef]:
    """Describe NVIDIA's GPUs; return their IRIs by PCP instance name (gpu0).

    `ingest.describe.pci` adds GPUs that only the PCI tree shows, and links these to
    their PCI devices by bus address.
    """
    known = facts.get("gpus") or {}
    triples.link(
        iris.host(host),
        {ST.gpuDriver: known.get("driver"), ST.cudaVersion: known.get("cuda")},
    )
    described = {}
    for gpu in known.get("gpus") or []:
        name = gpu.get("busid") or gpu.get("uuid") or f"gpu{gpu['index']}"
        iri = iris.component(host, "gpu", name)
        triples.node(iri, ST.Gpu, _gpu(gpu), label=gpu.get("name") or name)
        triples.link(iri, {ST.isPartOf: iris.host(host)})
        for part in gpu.get("partitions") or []:
            _partition(triples, iris, host, f"{name}.{part['index']}", part, iri)
        described[f"gpu{gpu['index']}"] = iri
    return described


def _gpu(gpu: dict[str, Any]) -> dict[URIRef, Any]:
    return {
        ST.vendor: "NVIDIA",
        ST.model: gpu.get("name"),
        ST.gpuArchitecture: gpu.get("architecture"),
        ST.gpuIndex: gpu["index"],
        ST.gpuUuid: gpu.get("uuid"),
        ST.serialNumber: gpu.get("serial"),
        ST.partNumber: gpu.get("part"),
        ST.firmwareVersion: gpu.get("vbios"),
        ST.businfo: f"pci@{gpu['busid']}" if gpu.get("busid") else None,
        ST.memorySize: gpu.get("memory"),
        ST.gpuMaxFrequency: gpu.get("max_clock"),
        ST.gpuMemoryFrequency: gpu.get("max_memory_clock"),
        ST.powerLimit: gpu.get("power_limit"),
        ST.pciGeneration: gpu.get("link_generation"),
        ST.pciLanes: gpu.get("link_width"),
        ST.computeMode: gpu.get("compute_mode"),
        ST.persistenceMode: gpu.get("persistence"),
        ST.eccEnabled: gpu.get("ecc"),
        ST.migEnabled: gpu.get("mig"),
    }


def _partition(
    triples: Triples, iris: Iris, host: str, name: str, part: dict[str, Any], of: URIRef
) -> None:
    triples.node(
        iris.component(host, "gpu", name),
        ST.GpuPartition,
        {
            ST.partitionIndex: part["index"],
            ST.gpuInstance: part.get("gpu_instance"),
            ST.computeInstance: part.get("compute_instance"),
            ST.gpuUuid: part.get("uuid"),
            ST.multiprocessorCount: part.get("multiprocessors"),
            ST.memorySize: part.get("memory"),
            ST.isPartOf: of,
        },
        label=f"MIG device {part['index']}",
    )
