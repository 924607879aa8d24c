"""NVIDIA's GPUs, from the XML of ``nvidia-smi -q -x``.

The elements depend on the driver's version. Each value is searched wherever some
version has it, and is unknown if it is missing or ``N/A``.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from ingest.errors import MalformedSourceError, SourceMissingError
from ingest.gaps import report_gap
from ingest.sources.dmi import real
from ingest.sources.files import read_value
from ingest.sources.machine import HERE, Machine
from ontology.numbers import read_decimal, read_whole

_DEVICES, _NVIDIA = Path("sys/bus/pci/devices"), "0x10de"
_ROOT = "nvidia_smi_log"
_ABSENT = {"", "n/a", "none", "not available", "unknown error", "[n/a]"}
_ABSENT |= {"not supported", "[not supported]", "insufficient permissions"}
_BUS_ID = re.compile(r"([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])")
_QUANTITY = re.compile(r"([0-9.]{1,20}) ?([A-Za-z]{1,4})")
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# Drivers before 304 write MB but mean MiB.
_BYTES |= {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_HERTZ = {"kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
_WATTS = {"mW": 0.001, "W": 1.0}


def read_gpus(machine: Machine = HERE) -> dict[str, Any]:
    """Read NVIDIA's driver and GPUs; raises ProbeSourceError.

    If the tool is missing, there are no GPUs, unless a PCI device is NVIDIA's.
    """
    try:
        return parse_gpus(machine.tool("nvidia-smi"))
    except SourceMissingError:
        devices = (machine.root / _DEVICES).glob("*/vendor")
        if any(read_value(path) == _NVIDIA for path in devices):
            raise
    return {"driver": None, "cuda": None, "gpus": []}


def parse_gpus(output: bytes) -> dict[str, Any]:
    """Parse the driver's version and each GPU, from ``nvidia-smi -q -x``.

    Memory in bytes, clocks in Hz, power in W. Raises MalformedSourceError, and
    SourceMissingError if the driver sees no GPU.
    """
    root = _root(output)
    gpus = [_gpu(place, node) for place, node in enumerate(root.iter("gpu"))]
    if not gpus:
        raise SourceMissingError(
            "nvidia-smi lists no GPU: check with `nvidia-smi -L` whether the driver "
            "finds one"
        )
    return {
        "driver": _text(root, "driver_version"),
        "cuda": _text(root, "cuda_version"),
        "gpus": gpus,
    }


def bus_id(text: str) -> str | None:
    """A PCI address in the kernel's form, ``0000:3b:00.0``; None for other texts.

    NVIDIA writes the domain with eight digits.
    """
    found = _BUS_ID.fullmatch(text.strip())
    if found is None:
        return None
    domain, bus, device, function = found.groups()
    return f"{int(domain, 16):04x}:{bus}:{device}.{function}".lower()


def _root(output: bytes) -> Element:
    # Some drivers print a warning about a broken InfoROM before the document.
    start = output.find(b"<?xml")
    try:
        # Its DOCTYPE names a DTD that is not read; entities are refused.
        root: Element = fromstring(output[max(start, 0) :])
    except (ParseError, DefusedXmlException, ValueError) as error:
        why = " ".join(str(error).split())[:120]
        raise MalformedSourceError(
            f"nvidia-smi printed no XML ({why}): run `nvidia-smi -q -x` by hand"
        ) from None
    if root.tag != _ROOT:
        raise MalformedSourceError(
            f"nvidia-smi printed <{root.tag[:40]}>, expected <{_ROOT}>: "
            "run `nvidia-smi -q -x` by hand"
        )
    return root


def _gpu(place: int, node: Element) -> dict[str, Any]:
    bus = _text(node, "pci/pci_bus_id") or node.get("id") or ""
    mig = _text(node, "mig_mode/current_mig")
    ecc = _text(node, "ecc_mode/current_ecc")
    return {
        "index": place,
        "busid": bus_id(bus),
        "name": _text(node, "product_name"),
        "brand": _text(node, "product_brand"),
        "architecture": _text(node, "product_architecture"),
        "uuid": _text(node, "uuid"),
        "serial": real(_text(node, "serial")),
        "part": real(_text(node, "board_part_number", "gpu_part_number")),
        "vbios": _text(node, "vbios_version"),
        "memory": _bytes(node, "fb_memory_usage/total", "memory_usage/total"),
        "max_clock": _hertz(node, "max_clocks/sm_clock", "max_clocks/graphics_clock"),
        "max_memory_clock": _hertz(node, "max_clocks/mem_clock"),
        "power_limit": _watts(
            node,
            "gpu_power_readings/default_power_limit",
            "power_readings/default_power_limit",
            "power_readings/power_limit",
        ),
        "link_generation": _whole(node, *_link("pcie_gen/max_link_gen")) or None,
        "link_width": _width(node, *_link("link_widths/max_link_width")),
        "compute_mode": _text(node, "compute_mode"),
        "persistence": _switch(_text(node, "persistence_mode")),
        "ecc": _switch(ecc),
        "mig": _switch(mig),
        "partitions": list(_partitions(node)),
    }


def _link(path: str) -> tuple[str, ...]:
    return (f"pci/pci_gpu_link_info/{path}",)


def _partitions(node: Element) -> Iterator[dict[str, Any]]:
    """Yield the MIG devices; without any, the element holds the word None."""
    for place, device in enumerate(node.findall("mig_devices/mig_device")):
        index = _whole(device, "index")
        yield {
            "index": place if index is None else index,
            "gpu_instance": _whole(device, "gpu_instance_id"),
            "compute_instance": _whole(device, "compute_instance_id"),
            "uuid": _text(device, "uuid"),
            "multiprocessors": _whole(
                device, "device_attributes/shared/multiprocessor_count"
            ),
            "memory": _bytes(device, "fb_memory_usage/total"),
        }


def _text(node: Element, *paths: str) -> str | None:
    for path in paths:
        text = " ".join((node.findtext(path) or "").split())
        if text.lower() not in _ABSENT:
            return text
    return None


def _whole(node: Element, *paths: str) -> int | None:
    text = _text(node, *paths)
    try:
        return None if text is None else max(read_whole(text), 0)
    except ValueError:
        report_gap(paths[0], text, "a whole number")
        return None


def _width(node: Element, *paths: str) -> int | None:
    """``16x`` is 16."""
    text = _text(node, *paths)
    try:
        return read_whole((text or "0").removesuffix("x")) or None
    except ValueError:
        report_gap(paths[0], text, "a number of lanes such as 16x")
        return None


def _quantity(node: Element, units: dict[str, Any], *paths: str) -> float | None:
    """A number in one of the units; None with another unit or without one."""
    for path in paths:
        text = _text(node, path)
        found = _QUANTITY.fullmatch(text or "")
        if found and found[2] in units:
            with suppress(ValueError):
                return read_decimal(found[1]) * float(units[found[2]])
        if text is not None:
            report_gap(path, text, f"in {' or '.join(units)}")
    return None


def _bytes(node: Element, *paths: str) -> int | None:
    amount = _quantity(node, _BYTES, *paths)
    return int(amount) if amount else None


def _hertz(node: Element, *paths: str) -> int | None:
    amount = _quantity(node, _HERTZ, *paths)
    return int(amount) if amount else None


def _watts(node: Element, *paths: str) -> float | None:
    return _quantity(node, _WATTS, *paths) or None


def _switch(text: str | None) -> bool | None:
    return {"enabled": True, "disabled": False}.get((text or "").lower())
