"""Memory banks, network cards and disks as lshw describes them."""

import json
import re
from collections.abc import Iterator
from typing import Any

from ingest.dmi import real
from ingest.errors import MalformedSourceError
from ingest.machine import HERE, Machine

_DISK = re.compile(r"/dev/((?!ng[0-9])\S+)")

Node = dict[str, Any]


def read_lshw(machine: Machine = HERE) -> dict[str, Any]:
    """What lshw finds; raises SourceError."""
    return parse_lshw(machine.tool("lshw"))


def parse_lshw(output: bytes) -> dict[str, Any]:
    """The facts in lshw's JSON: one tree, or a list of trees, as its version has it.

    Sizes in bytes, clocks in Hz. Raises MalformedSourceError.
    """
    try:
        # lshw passes on what firmware holds: bytes of any kind, control characters.
        document = json.loads(output.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError) as error:
        raise MalformedSourceError(
            f"lshw printed no JSON ({error}): run `lshw -json` by hand"
        ) from None
    nodes = list(_walk(document if isinstance(document, list) else [document]))
    return {
        "memory_banks": [_bank(node) for node, _ in nodes if _is_bank(node)],
        "nics": [nic for node, _ in nodes for nic in _nics(node)],
        "disks": [disk for node, parent in nodes for disk in _disks(node, parent)],
        "memory": _memory([node for node, _ in nodes]),
    }


def _walk(roots: list[Any]) -> Iterator[tuple[Node, Node]]:
    """Every node with its parent, in the order of the file."""
    stack: list[tuple[Any, Node]] = [(root, {}) for root in reversed(roots)]
    while stack:
        node, parent = stack.pop()
        if not isinstance(node, dict):
            raise MalformedSourceError(
                "lshw's JSON is no tree of devices: run `lshw -json` by hand"
            )
        yield node, parent
        children = node.get("children")
        if isinstance(children, list):
            stack.extend((child, node) for child in reversed(children))


def _is_bank(node: Node) -> bool:
    # An empty slot is a bank without a size.
    bank = node.get("class") == "memory" and _text(node, "id", "").startswith("bank")
    return bank and isinstance(node.get("size"), int)


def _bank(node: Node) -> dict[str, Any]:
    clock = node.get("clock")
    return {
        "slot": _text(node, "slot") or _text(node, "id"),
        "size": node["size"],
        "clock": clock if isinstance(clock, int) else None,
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
                "firmware": _setting(node, "firmware"),
                "businfo": _text(node, "businfo"),
            }


def _disks(node: Node, parent: Node) -> Iterator[dict[str, Any]]:
    if node.get("class") != "disk":
        return
    # An NVMe namespace is described by its controller.
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
    """The size of the whole memory; None where lshw names none."""
    for node in nodes:
        whole = node.get("class") == "memory" and node.get("id") == "memory"
        if whole and isinstance(node.get("size"), int):
            return int(node["size"])
    return None


def _names(node: Node) -> list[str]:
    names = node.get("logicalname", [])
    return [str(name) for name in (names if isinstance(names, list) else [names])]


def _text(node: Node, key: str, missing: str | None = None) -> Any:
    value = node.get(key)
    return value.strip() or missing if isinstance(value, str) else missing


def _setting(node: Node, key: str) -> str | None:
    settings = node.get("configuration")
    return _text(settings, key) if isinstance(settings, dict) else None
