"""Describe memory banks, empty slots, and GPUs known to NVIDIA's driver."""

import re
from typing import Any

from rdflib import URIRef

from ingest.conflict_resolution.claims import Resolved
from ingest.schema.schema import Facts
from ingest.schema.setup import Gpu, Partition
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
    facts: Facts,
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
                ST.bankLocator: slot.table.bank,
                ST.isPartOf: iris.host(host),
                **bank,
            },
            label=f"{'empty slot' if slot.empty else 'memory bank'} {slot.name}",
        )


def _bank(slot: SlotReadings) -> dict[URIRef, Any]:
    words = slot.lshw.description or ""
    form, kind = _FORM.search(words), _TYPE.search(words)
    table = slot.table
    return {
        ST.memoryType: table.type or (kind[0] if kind else words),
        ST.moduleTechnology: table.technology,
        ST.formFactor: table.form_factor or (form[0] if form else None),
        ST.transferRate: table.speed,
        ST.configuredTransferRate: table.configured_speed,
        ST.rank: table.rank,
        ST.totalWidth: table.total_width,
        ST.dataWidth: table.data_width,
        ST.assetTag: table.asset,
    }


def describe_gpus(
    triples: Triples, iris: Iris, host: str, facts: Facts
) -> dict[str, URIRef]:
    """Describe NVIDIA's GPUs; return their IRIs by PCP instance name (gpu0).

    `ingest.describe.pci` adds GPUs that only the PCI tree shows, and links these to
    their PCI devices by bus address.
    """
    known = facts.gpus
    triples.link(
        iris.host(host),
        {ST.gpuDriver: known.driver, ST.cudaVersion: known.cuda},
    )
    described = {}
    for gpu in known.gpus:
        name = gpu.busid or gpu.uuid or f"gpu{gpu.index}"
        iri = iris.component(host, "gpu", name)
        triples.node(iri, ST.Gpu, _gpu(gpu), label=gpu.name or name)
        triples.link(iri, {ST.isPartOf: iris.host(host)})
        for part in gpu.partitions:
            _partition(triples, iris, host, f"{name}.{part.index}", part, iri)
        described[f"gpu{gpu.index}"] = iri
    return described


def _gpu(gpu: Gpu) -> dict[URIRef, Any]:
    return {
        ST.vendor: "NVIDIA",
        ST.model: gpu.name,
        ST.gpuArchitecture: gpu.architecture,
        ST.gpuIndex: gpu.index,
        ST.gpuUuid: gpu.uuid,
        ST.serialNumber: gpu.serial,
        ST.partNumber: gpu.part,
        ST.firmwareVersion: gpu.vbios,
        ST.businfo: f"pci@{gpu.busid}" if gpu.busid else None,
        ST.memorySize: gpu.memory,
        ST.gpuMaxFrequency: gpu.max_clock,
        ST.gpuMemoryFrequency: gpu.max_memory_clock,
        ST.powerLimit: gpu.power_limit,
        ST.pciGeneration: gpu.link_generation,
        ST.pciLanes: gpu.link_width,
        ST.computeMode: gpu.compute_mode,
        ST.persistenceMode: gpu.persistence,
        ST.eccEnabled: gpu.ecc,
        ST.migEnabled: gpu.mig,
    }


def _partition(
    triples: Triples, iris: Iris, host: str, name: str, part: Partition, of: URIRef
) -> None:
    triples.node(
        iris.component(host, "gpu", name),
        ST.GpuPartition,
        {
            ST.partitionIndex: part.index,
            ST.gpuInstance: part.gpu_instance,
            ST.computeInstance: part.compute_instance,
            ST.gpuUuid: part.uuid,
            ST.multiprocessorCount: part.multiprocessors,
            ST.memorySize: part.memory,
            ST.isPartOf: of,
        },
        label=f"MIG device {part.index}",
    )
