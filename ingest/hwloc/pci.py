"""PCI devices and their OS devices, from hwloc's XML.

Bridges, their order and the locality of devices come from hwloc: a device has the CPUs
of the smallest object above it.
"""

import re
from collections import Counter
from typing import Any

from ingest.gaps import report_gap
from ingest.hwloc.pci_classes import class_name
from ingest.hwloc.xml import HwlocObject, Topology
from ontology.numbers import read_decimal

_BUSID = re.compile(
    r"([0-9a-f]{1,8}):([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-9a-f])", re.I
)
_TYPE = re.compile(
    r"([0-9a-f]{1,4}) \[([0-9a-f]{1,4}):([0-9a-f]{1,4})\]"
    r"(?: \[([0-9a-f]{1,4}):([0-9a-f]{1,4})\])?(?: ([0-9a-f]{1,2}))?.*",
    re.I,
)
_BUSES = re.compile(r"[0-9a-f]{1,8}:\[[0-9a-f]{2}-[0-9a-f]{2}\]", re.I)
_GIGA = 1_000_000_000
# hwloc 3 uses a bit mask, since a device can have several kinds.
_BITS = (
    "storage",
    "memory",
    "gpu",
    "coprocessor",
    "network",
    "openfabrics",
    "dma",
)
# hwloc 1 and 2 number the only kind of a device.
_NUMBERS = ("storage", "gpu", "network", "openfabrics", "dma", "coprocessor", "memory")
_GPU_KINDS = {"CUDA", "LevelZero"}


def find_pci(topology: Topology) -> list[dict[str, Any]]:
    """Find every PCI device and bridge; ``link_speed`` in byte/s, ids in hexadecimal.

    ``parent`` is the bus id of the bridge above, ``threads`` are the nearest CPUs. A
    repeated bus id gets a numeric suffix.
    """
    names = _bus_ids(topology)
    below = _os_devices_below(topology, names)
    return [
        {
            "busid": busid,
            **_identity(thing),
            "link_speed": _speed(thing.attributes.get("pci_link_speed", "")),
            "bridge": thing.kind == "Bridge",
            "buses": _buses(thing),
            "parent": _parent(thing, topology, names),
            "threads": topology.near(thing),
            "os_devices": below.get(place, []),
        }
        for place, busid in names.items()
        for thing in [topology.objects[place]]
    ]


def find_os_devices(topology: Topology) -> list[dict[str, Any]]:
    """Find every OS device that is not below a PCI device."""
    below = _os_devices_below(topology, _bus_ids(topology))
    return below.get(None, [])


def _bus_ids(topology: Topology) -> dict[int, str]:
    """Map each PCI object's place in the file to its bus id, made unique."""
    seen: Counter[str] = Counter()
    found = {}
    for thing in topology.objects:
        if thing.kind in ("PCIDev", "Bridge") and (busid := _busid(thing)):
            again = seen[busid]
            seen[busid] += 1
            found[thing.place] = f"{busid}-{again}" if again else busid
    return found


def _busid(thing: HwlocObject) -> str | None:
    text = thing.attributes.get("pci_busid")
    match = _BUSID.fullmatch(text or "")
    if not match:
        # A host bridge has no address and is left out on purpose.
        if text is not None or thing.kind == "PCIDev":
            report_gap(f"pci_busid of a {thing.kind}", text, "a PCI address")
        return None
    domain, bus, device, function = (int(part, 16) for part in match.groups())
    return f"{domain:04x}:{bus:02x}:{device:02x}.{function:x}"


def _identity(thing: HwlocObject) -> dict[str, Any]:
    text = thing.attributes.get("pci_type", "")
    match = _TYPE.fullmatch(text)
    if text and not match:
        report_gap(f"pci_type of {_busid(thing)}", text, "a class with ids")
    code, vendor, device, subvendor, subdevice, revision = (
        match.groups() if match else (None,) * 6
    )
    return {
        "class_id": _hex(code),
        "class_name": class_name(int(code, 16)) if code else None,
        "vendor_id": _hex(vendor),
        "device_id": _hex(device),
        "subvendor_id": _hex(subvendor),
        "subdevice_id": _hex(subdevice),
        "revision": revision.lower() if revision else None,
        "vendor": thing.info.get("PCIVendor"),
        "model": thing.info.get("PCIDevice"),
        "slot": thing.info.get("PCISlot"),
    }


def _hex(text: str | None) -> str | None:
    return f"{int(text, 16):04x}" if text else None


def _speed(text: str) -> int | None:
    try:
        gigabytes = read_decimal(text or "0")
    except ValueError:
        gigabytes = -1
    if not 0 <= gigabytes < _GIGA:
        report_gap("pci_link_speed", text, "a number of GB/s")
    return round(gigabytes * _GIGA) if 0 < gigabytes < _GIGA else None


def _buses(thing: HwlocObject) -> str | None:
    buses = thing.attributes.get("bridge_pci", "")
    return buses.lower() if _BUSES.fullmatch(buses) else None


def _parent(
    thing: HwlocObject, topology: Topology, names: dict[int, str]
) -> str | None:
    above = (names.get(found.place) for found in topology.above(thing))
    return next(filter(None, above), None)


def _os_devices_below(
    topology: Topology, names: dict[int, str]
) -> dict[int | None, list[dict[str, Any]]]:
    """Map each PCI device's place (None for none) to its OS devices, names unique."""
    found: dict[int | None, list[dict[str, Any]]] = {}
    seen = set()
    for thing in topology.all_things("OSDev"):
        name = thing.attributes.get("name")
        if name and name not in seen:
            seen.add(name)
            above = (t.place for t in topology.above(thing) if t.place in names)
            place = next(above, None)
            found.setdefault(place, []).append(_os_device(thing, name, topology))
    return found


def _os_device(thing: HwlocObject, name: str, topology: Topology) -> dict[str, Any]:
    return {
        "name": name,
        "kinds": _kinds(thing, topology.major),
        "subtype": thing.subtype,
        "threads": topology.near(thing),
        "info": thing.info,
    }


def _kinds(thing: HwlocObject, version: int) -> list[str]:
    """The kinds of a device in either encoding, as the words of hwloc 3."""
    text = thing.attributes.get("osdev_type", "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
    if number is None:
        report_gap(f"osdev_type of {thing.attributes.get('name')}", text, "a number")
        return []
    if version >= 3:
        return [word for bit, word in enumerate(_BITS) if number >> bit & 1]
    return _old_kinds(thing, _NUMBERS[number]) if number < len(_NUMBERS) else []


def _old_kinds(thing: HwlocObject, word: str) -> list[str]:
    if word == "storage":
        return _memory_or_storage(thing)
    if word == "openfabrics":
        return ["network"] if thing.subtype == "BXI" else ["network", word]
    is_gpu = thing.subtype in _GPU_KINDS or thing.info.get("OpenCLDeviceType") == "GPU"
    if word == "coprocessor" and is_gpu:
        return ["gpu", word]
    return [word]


def _memory_or_storage(thing: HwlocObject) -> list[str]:
    """hwloc 1 and 2 call memory devices block devices."""
    if thing.subtype == "CXLMem":
        keeps = "CXLPMEMSize" in thing.info
    elif thing.attributes["name"].startswith("dax"):
        keeps = thing.subtype == "NVM"
    else:
        return ["storage"]
    return ["storage", "memory"] if keeps else ["memory"]
