"""Memory banks, network cards and disks from lshw."""

import json
import re
from collections.abc import Iterator
from ipaddress import IPv4Address
from typing import Any

from ingest.errors import MalformedSourceError
from ingest.gaps import report_gap
from ingest.sources.dmi import real
from ingest.sources.machine import HERE, Machine

_DISK = re.compile(r"/dev/((?!ng[0-9])\S+)")

_MAC = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){3,31}")
_BANK = ("slot", "size", "clock", "vendor", "model", "serial", "description")

Node = dict[str, Any]


def read_lshw(machine: Machine = HERE) -> dict[str, Any]:
    """Run lshw and parse its output; raises ProbeSourceError."""
    return parse_lshw(machine.tool("lshw"))


def parse_lshw(output: bytes) -> dict[str, Any]:
    """Parse lshw's JSON: one tree, or a list of trees, depending on its version.

    Sizes in bytes, clocks in Hz. Raises MalformedSourceError.
    """
    try:
        # lshw copies firmware texts with arbitrary bytes and control characters.
        document = json.loads(output.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError) as error:
        raise MalformedSourceError(
            f"lshw printed no JSON ({error}): run `lshw -json` by hand"
        ) from None
    nodes = list(_walk(document if isinstance(document, list) else [document]))
    return {
        **_identity([node for node, _ in nodes]),
        "cpus": [_cpu(node) for node, _ in nodes if _is_cpu(node)],
        "memory_banks": [_bank(node) for node, _ in nodes if _is_bank(node)],
        "nics": [nic for node, _ in nodes for nic in _nics(node)],
        "disks": [disk for node, parent in nodes for disk in _disks(node, parent)],
        "memory": _memory([node for node, _ in nodes]),
    }


def _walk(roots: list[Any]) -> Iterator[tuple[Node, Node]]:
    """Yield every node with its parent, in file order."""
    stack: list[tuple[Any, Node]] = [(root, {}) for root in reversed(roots)]
    while stack:
        node, parent = stack.pop()
        if not isinstance(node, dict):
            raise MalformedSourceError(
                "lshw's JSON is not a tree of devices: run `lshw -json` by hand"
            )
        yield node, parent
        children = node.get("children")
        if isinstance(children, list):
            stack.extend((child, node) for child in reversed(children))


def _identity(nodes: list[Node]) -> dict[str, Any]:
    """Board, system and BIOS with the keys of `ingest.sources.dmi`."""
    system = next((n for n in nodes if n.get("class") == "system"), {})
    board = next((n for n in nodes if n.get("id") == "core"), {})
    bios = next((n for n in nodes if n.get("id") == "firmware"), {})
    return {
        "system": {**_part(system), "uuid": real(_setting(system, "uuid"))},
        "board": _part(board),
        "bios": {
            "vendor": real(_text(bios, "vendor")),
            "version": real(_text(bios, "version")),
            "date": real(_text(bios, "date")),
        },
    }


def _part(node: Node) -> dict[str, Any]:
    # Some versions append the stock-keeping unit to the name.
    model = re.sub(r" \([^()]*\)$", "", _text(node, "product", ""))
    return {
        "vendor": real(_text(node, "vendor")),
        "model": real(model),
        "serial": real(_text(node, "serial")),
    }


def _is_cpu(node: Node) -> bool:
    # lshw lists an empty socket as a processor without a bus address.
    return node.get("class") == "processor" and bool(_text(node, "businfo"))


def _cpu(node: Node) -> dict[str, Any]:
    return {
        "model": real(_text(node, "product")),
        "vendor": real(_text(node, "vendor")),
        "microcode": _setting(node, "microcode"),
    }


def _is_bank(node: Node) -> bool:
    return node.get("class") == "memory" and _text(node, "id", "").startswith("bank")


def _bank(node: Node) -> dict[str, Any]:
    slot, size = _text(node, "slot") or _text(node, "id"), _whole(node, "size")
    if not size:
        # lshw invents the other fields of an empty slot: "[empty]", "NO DIMM".
        return dict.fromkeys(_BANK) | {"slot": slot}
    return {
        "slot": slot,
        "size": size,
        "clock": _whole(node, "clock"),
        "vendor": real(_text(node, "vendor")),
        "model": real(_text(node, "product")),
        "serial": real(_text(node, "serial")),
        "description": _text(node, "description"),
    }


def _nics(node: Node) -> Iterator[dict[str, Any]]:
    if node.get("class") == "network":
        for name in _names(node):
            yield {
                "name": name,
                "model": real(_text(node, "product")),
                "vendor": real(_text(node, "vendor")),
                "serial": _text(node, "serial"),
                # lshw puts a card's address in its serial number.
                "mac": _mac(_text(node, "serial")),
                "speed": _whole(node, "size"),
                "driver": _setting(node, "driver"),
                "ipv4": _address(_setting(node, "ip")),
                "firmware": _setting(node, "firmware"),
                "businfo": _text(node, "businfo"),
            }


def _disks(node: Node, parent: Node) -> Iterator[dict[str, Any]]:
    if node.get("class") != "disk":
        return
    # The controller holds the description of an NVMe namespace.
    above = parent if parent.get("class") == "storage" else {}
    if not _text(above, "logicalname", "").startswith("/dev/nvme"):
        above = {}
    for name in _names(node):
        if disk := _DISK.fullmatch(name):
            yield {
                "name": disk[1],
                "model": real(_text(node, "product") or _text(above, "product")),
                "vendor": real(_text(node, "vendor") or _text(above, "vendor")),
                "serial": real(_text(node, "serial") or _text(above, "serial")),
                "firmware": _setting(node, "firmware")
                or _text(node, "version")
                or _text(above, "version"),
            }


def _memory(nodes: list[Node]) -> int | None:
    """The size of the whole memory; None if lshw does not report it."""
    for node in nodes:
        whole = node.get("class") == "memory" and node.get("id") == "memory"
        if whole and (size := _whole(node, "size")):
            return size
    return None


def _names(node: Node) -> list[str]:
    names = node.get("logicalname", [])
    return [str(name) for name in (names if isinstance(names, list) else [names])]


def _text(node: Node, key: str, missing: str | None = None) -> Any:
    value = node.get(key)
    return value.strip() or missing if isinstance(value, str) else missing


def _whole(node: Node, key: str) -> int | None:
    value = node.get(key)
    if type(value) is int and value > 0:
        return value
    if value not in (None, 0, ""):
        report_gap(f"{key} of {_text(node, 'id')}", value, "a whole number from 1")
    return None


def _address(text: str | None) -> str | None:
    try:
        return str(IPv4Address(text)) if text else None
    except ValueError:
        report_gap("ip of a network interface", text, "an IPv4 address")
        return None


def _mac(text: str | None) -> str | None:
    if text and not _MAC.fullmatch(text):
        report_gap("serial of a network interface", text, "a hardware address")
        return None
    return text


def _setting(node: Node, key: str) -> str | None:
    settings = node.get("configuration")
    return _text(settings, key) if isinstance(settings, dict) else None
