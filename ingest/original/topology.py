"""Threads, cores, caches and memories in the original's probe files.

The facts have the form of parse_hwloc's, as far as likwid gave the data for them.
"""

import re
from typing import Any

from ingest.errors import ProbeDocumentError
from ingest.hwloc.read import contradiction
from ingest.original.values import (
    count,
    cpus,
    entries,
    index,
    malformed,
    member,
    size,
    whole,
)

_TYPES = {"": "unified", "D": "data", "I": "instruction"}
_CACHE = re.compile("L([1-5])([DI]?)")
_HERE = "the file"


def topology(file: dict[str, Any]) -> dict[str, Any]:
    """Facts in the form of parse_hwloc; raises ProbeDocumentError."""
    sockets = _sockets(file)
    threads = sorted({cpu for socket in sockets for cpu in socket["threads"]})
    if not threads:
        raise malformed(f"{_HERE}.affinity", "a list of sockets with threads")
    facts = {
        "version": "original",
        "threads": [{"os_index": cpu, "allowed": True} for cpu in threads],
        "cores": [core for socket in sockets for core in socket.pop("cores")],
        "dies": [],
        "sockets": sockets,
        "groups": [],
        "caches": list(_caches(file)),
        "numa": [_domain(name, node) for name, node in _domains(file).items()],
        "distances": _distances(file),
    }
    if found := contradiction(facts):
        raise ProbeDocumentError(f"in the file, {found}: probe the machine again")
    return facts


def _sockets(file: dict[str, Any]) -> list[dict[str, Any]]:
    place = f"{_HERE}.affinity.socket"
    return [
        _socket(name, entries(socket, f"{place}[{name}]", "cores"))
        for name, socket in entries(file, _HERE, "affinity", "socket").items()
    ]


def _socket(name: str, cores: dict[str, Any]) -> dict[str, Any]:
    place = f"{_HERE}.affinity.socket"
    found: list[dict[str, Any]] = [
        {"os_index": index(core, place), "threads": cpus(held, f"{place}[{core}]")}
        for core, held in cores.items()
    ]
    threads = sorted({cpu for core in found for cpu in core["threads"]})
    number = index(name, place)
    return {"os_index": number, "threads": threads, "cores": found, "info": {}}


def _caches(file: dict[str, Any]) -> Any:
    for name, cache in entries(file, _HERE, "cpu", "cache").items():
        place = f"{_HERE}.cpu.cache.{name[:20]}"
        match = _CACHE.fullmatch(name)
        groups = member(cache, place, "cache_groups") or []
        if not match or not isinstance(groups, list):
            raise malformed(place, "a cache such as L2 with its groups of threads")
        for held in groups:
            yield {
                "level": int(match[1]),
                "type": _TYPES[match[2]],
                "size": size(cache.get("size"), f"{place}.size"),
                "line": count(cache.get("cache_line_size"), f"{place}.cache_line_size"),
                "ways": count(cache.get("associativity"), f"{place}.associativity"),
                "sets": count(cache.get("no_sets"), f"{place}.no_sets"),
                "inclusive": None,
                "threads": cpus(held, f"{place}.cache_groups"),
            }


def _domains(file: dict[str, Any]) -> dict[str, Any]:
    return entries(file, _HERE, "numa")


def _domain(name: str, node: Any) -> dict[str, Any]:
    place = f"{_HERE}.numa[{name[:20]}]"
    held = cpus(member(node, place, "processors") or [], f"{place}.processors")
    return {
        "os_index": index(name, f"{_HERE}.numa"),
        "threads": held,
        "memory": size(node.get("total_memory"), f"{place}.total_memory"),
    }


def _distances(file: dict[str, Any]) -> list[dict[str, int]]:
    domains = {index(name, "numa"): node for name, node in _domains(file).items()}
    found = []
    for start, node in domains.items():
        values = member(node, f"{_HERE}.numa[{start}]", "distances") or []
        numbers = [whole(v) for v in values] if isinstance(values, list) else [None]
        if numbers and (len(numbers) != len(domains) or None in numbers):
            raise malformed(
                f"{_HERE}.numa[{start}].distances", "one number per NUMA domain"
            )
        found += [
            {"from": start, "to": to, "value": value}
            for to, value in zip(domains, numbers, strict=False)
            if value is not None
        ]
    return found
