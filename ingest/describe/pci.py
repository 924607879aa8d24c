"""Describe PCI devices, their tree and locality, and the OS devices on them.

Disks, network interfaces and GPUs that other sources describe are only linked to their
PCI device here. Any other device is described from hwloc alone.
"""

import re
from typing import Any

from rdflib import RDF, URIRef

from ingest.describe.places import HostTopology
from ingest.describe.topology import Components
from ingest.hwloc.pci_classes import computes
from ingest.schema.schema import Facts
from ingest.schema.topology import OsDevice, PciDevice
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){3,31}", re.I)
_KIBIBYTES = re.compile(r"([0-9]{1,15})(KiB|kB)?")
_GPU_MEMORY = (
    ("CUDAGlobalMemorySize",),
    ("NVMLGlobalMemorySize",),
    ("RSMIVRAMSize",),
    ("LevelZeroHBMSize", "LevelZeroDDRSize"),
    ("OpenCLGlobalMemorySize",),
)
_REMOVABLE = ("Removable Media Device", "Tape")


def describe_pci(
    triples: Triples,
    iris: Iris,
    host: str,
    facts: Facts,
    components: Components,
) -> Components:
    """Describe the I/O devices that hwloc knows.

    ``components`` are those already described, by name. Returns the I/O devices by
    name, known and new.
    """
    if not facts.hwloc.pci and not facts.hwloc.os_devices:
        return {}
    places = HostTopology(iris, host, facts.hwloc)
    return _Devices(triples, places, components).describe()


class _Devices:
    """One pass over the PCI devices of a host."""

    def __init__(
        self, triples: Triples, places: HostTopology, known: Components
    ) -> None:
        self.triples, self.places, self.known = triples, places, known
        self.found: Components = {}
        self.busids = {entry.busid for entry in places.topology.pci}

    def describe(self) -> Components:
        gpus = self._known_gpus()
        for entry in self.places.topology.pci:
            pci = self._pci(entry)
            for device in entry.os_devices:
                self._device(device, pci)
            if pci in gpus or (not entry.bridge and _is_gpu(entry)):
                self._gpu(entry, pci, gpus.get(pci))
        for device in self.places.topology.os_devices:
            self._device(device, None)
        return self.found

    def _pci(self, entry: PciDevice) -> URIRef:
        return self.triples.node(
            self._pci_iri(entry.busid),
            ST.PciBridge if entry.bridge else ST.PciDevice,
            {
                ST.pciAddress: entry.busid,
                ST.pciClass: entry.class_id,
                ST.pciClassName: entry.class_name,
                ST.pciVendorId: entry.vendor_id,
                ST.pciDeviceId: entry.device_id,
                ST.vendor: entry.vendor,
                ST.model: entry.model,
                ST.pciSlot: entry.slot,
                ST.busRange: entry.buses,
                ST.linkBandwidth: entry.link_speed,
                ST.isPartOf: self._above(entry),
                **self._near(entry.threads),
            },
            label=_label(entry),
        )

    def _above(self, entry: PciDevice) -> URIRef:
        above = entry.parent
        if above and above in self.busids and above != entry.busid:
            return self._pci_iri(above)
        return self._host()

    def _near(self, threads: list[int]) -> dict[URIRef, Any]:
        """The smallest container near the device and its memory, not each thread."""
        return {
            ST.nearTo: self.places.parent(threads),
            ST.nearDomain: self.places.domains(threads),
        }

    def _device(self, device: OsDevice, pci: URIRef | None) -> None:
        name = device.name
        iri = self.known.get(name) or self._new_device(device)
        if iri:
            self.found[name] = iri
            near = {} if pci else self._near(device.threads)
            self.triples.link(iri, {ST.onPciDevice: pci, **near})

    def _new_device(self, device: OsDevice) -> URIRef | None:
        """Describe a device only hwloc knows; GPUs follow from their PCI device."""
        kinds = set(device.kinds)
        if "gpu" in kinds:
            return None
        if kinds == {"network"}:
            return self._nic(device)
        if kinds == {"storage"} and device.subtype not in _REMOVABLE:
            return self._disk(device)
        return self._other(device)

    def _nic(self, device: OsDevice) -> URIRef:
        address = device.info.get("Address", "")
        return self.triples.node(
            self.places.component("nic", device.name),
            ST.NetworkInterface,
            {
                ST.deviceName: device.name,
                ST.macAddress: address if _MAC.fullmatch(address) else None,
                ST.isPartOf: self._host(),
            },
            label=device.name,
        )

    def _disk(self, device: OsDevice) -> URIRef:
        info = device.info
        return self.triples.node(
            self.places.component("disk", device.name),
            ST.Disk,
            {
                ST.deviceName: device.name,
                ST.diskSize: _bytes(info, "Size"),
                ST.model: info.get("Model"),
                ST.vendor: info.get("Vendor"),
                ST.serialNumber: info.get("SerialNumber"),
                ST.firmwareVersion: info.get("Revision"),
                ST.isPartOf: self._host(),
            },
            label=device.name,
        )

    def _other(self, device: OsDevice) -> URIRef:
        info = device.info
        return self.triples.node(
            self.places.component("osdev", device.name),
            ST.OsDevice,
            {
                ST.deviceName: device.name,
                ST.deviceKind: device.kinds,
                ST.deviceType: device.subtype,
                ST.deviceMemory: _bytes(info, "Size", "CXLRAMSize", "CXLPMEMSize"),
                ST.isPartOf: self._host(),
            },
            label=device.name,
        )

    def _gpu(self, entry: PciDevice, pci: URIRef, known: URIRef | None) -> None:
        iri = known or self._new_gpu(entry)
        self.triples.link(iri, {ST.onPciDevice: pci})
        for device in entry.os_devices:
            self.found[device.name] = iri

    def _new_gpu(self, entry: PciDevice) -> URIRef:
        infos = [d.info for d in entry.os_devices if "gpu" in d.kinds]
        info = {key: text for found in infos for key, text in found.items()}
        return self.triples.node(
            self.places.component("gpu", entry.busid),
            ST.Gpu,
            {
                ST.vendor: info.get("GPUVendor") or entry.vendor,
                ST.model: info.get("GPUModel") or entry.model,
                ST.memorySize: _gpu_memory(info),
                ST.businfo: f"pci@{entry.busid}",
                ST.isPartOf: self._host(),
            },
            label=info.get("GPUModel") or entry.model or entry.busid,
        )

    def _known_gpus(self) -> Components:
        """GPUs that other sources described, by PCI device."""
        gpus = {s for s, p, o in self.triples if p == RDF.type and o == ST.Gpu}
        return {
            self._pci_iri(str(address).removeprefix("pci@")): gpu
            for gpu, predicate, address in self.triples
            if predicate == ST.businfo and gpu in gpus
        }

    def _pci_iri(self, busid: str) -> URIRef:
        return self.places.component("pci", busid)

    def _host(self) -> URIRef:
        return self.places.iris.host(self.places.host)


def _is_gpu(entry: PciDevice) -> bool:
    """Whether its class or vendor, or an OS device, shows a compute GPU."""
    kinds = [set(device.kinds) for device in entry.os_devices]
    code = entry.class_id
    return bool(code and computes(int(code, 16), entry.vendor_id)) or any(
        {"gpu", "coprocessor"} <= found for found in kinds
    )


def _gpu_memory(info: dict[str, str]) -> int | None:
    """Return the first size: several libraries report the same memory."""
    sizes = (_bytes(info, *names) for names in _GPU_MEMORY)
    return next(filter(None, sizes), None)


def _label(entry: PciDevice) -> str:
    """``USB controller 0000:00:1a.0``: a machine has many devices of a kind."""
    name = entry.model or entry.class_name
    return f"{name} {entry.busid}" if name else entry.busid


def _bytes(info: dict[str, str], *names: str) -> int | None:
    """Add up hwloc's sizes, all in KiB, of several parts."""
    sizes = [_KIBIBYTES.fullmatch(info.get(name, "")) for name in names]
    return sum(int(match[1]) * 1024 for match in sizes if match) or None
