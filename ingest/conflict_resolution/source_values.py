"""Read what each source says of a property from the facts of a probe.

Each function returns the values by component.
"""

from collections.abc import Callable
from typing import Any

from ingest.conflict_resolution.claims import Component, Facts, Read, Value
from ingest.describe import component_ids as ids
from ingest.sources.memory_slots import memory_slots

Found = dict[Component, Value | None]
HOST: Component = ()


def host(*path: str) -> Read:
    """Return a reader of one value of the host, by its path in the facts."""

    def read(facts: Facts) -> Found:
        value: Any = facts
        for step in path:
            value = (value or {}).get(step)
        return {HOST: value}

    return read


def each(kind: str, source: str, fact: str, part: str = "") -> Read:
    """Return a reader of one fact of each entry of a list, by the entry's name."""

    def read(facts: Facts) -> Found:
        known = facts.get(source) or {}
        entries = (known.get(part) if part else known) or []
        return {
            (kind, entry["name"]): entry.get(fact)
            for entry in entries
            if entry.get("name")
        }

    return read


def smart(fact: str) -> Read:
    def read(facts: Facts) -> Found:
        disks = facts.get("smart") or []
        return {("disk", disk["device"]): disk.get(fact) for disk in disks}

    return read


def bank(source: str, fact: str) -> Read:
    def read(facts: Facts) -> Found:
        slots = memory_slots(facts)
        return {("memory", slot.name): slot.says(source, fact) for slot in slots}

    return read


def _sockets(facts: Facts) -> dict[str, str]:
    """Map each socket's OS index to its component id."""
    sockets = (facts.get("hwloc") or {}).get("sockets") or []
    return {
        str(socket["os_index"]): ids.container("socket", socket["threads"])
        for socket in sockets
        if socket["threads"]
    }


def socket_cpu(fact: str) -> Read:
    def read(facts: Facts) -> Found:
        models = (facts.get("cpu") or {}).get("sockets") or {}
        known = _sockets(facts)
        return {
            ("socket", known[index]): model.get(fact)
            for index, model in models.items()
            if index in known
        }

    return read


def socket_hwloc(key: str) -> Read:
    def read(facts: Facts) -> Found:
        sockets = (facts.get("hwloc") or {}).get("sockets") or []
        return {
            ("socket", ids.container("socket", socket["threads"])): (
                socket.get("info") or {}
            ).get(key)
            for socket in sockets
            if socket["threads"]
        }

    return read


def socket_lshw(fact: str) -> Read:
    """Return a reader of a fact from lshw, for hosts where it lists all sockets.

    lshw numbers processors from 0, as the board does.
    """

    def read(facts: Facts) -> Found:
        known = _sockets(facts)
        cpus = (facts.get("lshw") or {}).get("cpus") or []
        if len(cpus) != len(known):
            return {}
        order = [known[index] for index in sorted(known, key=lambda i: (len(i), i))]
        pairs = zip(order, cpus, strict=True)
        return {("socket", name): cpu.get(fact) for name, cpu in pairs}

    return read


def numa(source: str, part: str) -> Read:
    def read(facts: Facts) -> Found:
        domains = (facts.get(source) or {}).get(part) or []
        return {("numa", str(d["os_index"])): d.get("memory") for d in domains}

    return read


def cache(read_caches: Callable[[Facts], list[dict[str, Any]]], fact: str) -> Read:
    def read(facts: Facts) -> Found:
        known = (facts.get("hwloc") or {}).get("caches") or []
        names = {_cache_name(cache) for cache in known if cache["threads"]}
        return {
            ("cache", name): cache.get(fact)
            for cache in read_caches(facts)
            if cache["threads"] and (name := _cache_name(cache)) in names
        }

    return read


def _cache_name(cache: dict[str, Any]) -> str:
    level = ids.cache_level(cache["level"], cache["type"])
    return ids.container(level.lower(), cache["threads"])


def hwloc_memory(facts: Facts) -> Found:
    domains = (facts.get("hwloc") or {}).get("numa") or []
    return {HOST: sum(domain.get("memory") or 0 for domain in domains) or None}


def installed(facts: Facts) -> Found:
    slots = facts.get("memory_banks") or []
    return {HOST: sum(slot.get("size") or 0 for slot in slots) or None}


def by_hwloc(facts: Facts) -> list[dict[str, Any]]:
    return (facts.get("hwloc") or {}).get("caches") or []


def by_kernel(facts: Facts) -> list[dict[str, Any]]:
    return facts.get("cache_sets") or []
