"""The rules by which one source is believed rather than another.

Of each property: the sources that know it, the one to be believed first. In general
the kernel goes before tools that ask it, and what reads a device itself before what
reads the board's tables.
"""

from collections.abc import Callable
from typing import Any

from rdflib import URIRef

from ingest import component_ids as ids
from ingest.claims import Component, Facts, Read, Rule, Value
from ingest.memory_slots import memory_slots
from ontology.terms import ST

Found = dict[Component, Value | None]
HOST: Component = ()


def same_text(one: Any, other: Any) -> bool:
    """Alike but for case and blanks."""
    return _plain(one) == _plain(other)


def same_name(one: Any, other: Any) -> bool:
    """Alike, or one cut short: SCSI has room for the beginning of a model's name and,
    of an ATA disk, for the end of its firmware's.
    """
    shorter, longer = sorted((_plain(one), _plain(other)), key=len)
    return longer.startswith(shorter) or longer.endswith(shorter)


def same_number(one: Any, other: Any) -> bool:
    """Alike as numbers, one perhaps hexadecimal: ``0x1000065`` and ``16777317``."""
    try:
        return int(str(one), 0) == int(str(other), 0)
    except ValueError:
        return same_text(one, other)


def nearly(one: Any, other: Any) -> bool:
    """At most 1 % apart: memory comes and goes while a machine runs."""
    return bool(abs(one - other) * 100 <= max(abs(one), abs(other)))


def _plain(value: Any) -> str:
    return " ".join(str(value).split()).casefold()


# ---- reading the facts -----------------------------------------------------------


def _host(*path: str) -> Read:
    """One value of the host, by its path in the facts."""

    def read(facts: Facts) -> Found:
        value: Any = facts
        for step in path:
            value = (value or {}).get(step)
        return {HOST: value}

    return read


def _each(kind: str, source: str, fact: str, part: str = "") -> Read:
    """One fact of each entry of a list, by the entry's name."""

    def read(facts: Facts) -> Found:
        known = facts.get(source) or {}
        entries = (known.get(part) if part else known) or []
        return {
            (kind, entry["name"]): entry.get(fact)
            for entry in entries
            if entry.get("name")
        }

    return read


def _smart(fact: str) -> Read:
    def read(facts: Facts) -> Found:
        disks = facts.get("smart") or []
        return {("disk", disk["device"]): disk.get(fact) for disk in disks}

    return read


def _bank(source: str, fact: str) -> Read:
    def read(facts: Facts) -> Found:
        slots = memory_slots(facts)
        return {("memory", slot.name): slot.says(source, fact) for slot in slots}

    return read


def _sockets(facts: Facts) -> dict[str, str]:
    """The ids of sockets by their os index."""
    sockets = (facts.get("hwloc") or {}).get("sockets") or []
    return {
        str(socket["os_index"]): ids.container("socket", socket["threads"])
        for socket in sockets
        if socket["threads"]
    }


def _socket_cpu(fact: str) -> Read:
    def read(facts: Facts) -> Found:
        models = (facts.get("cpu") or {}).get("sockets") or {}
        known = _sockets(facts)
        return {
            ("socket", known[index]): model.get(fact)
            for index, model in models.items()
            if index in known
        }

    return read


def _socket_hwloc(key: str) -> Read:
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


def _socket_lshw(fact: str) -> Read:
    """lshw numbers processors from 0 as the board does; all must be there."""

    def read(facts: Facts) -> Found:
        known = _sockets(facts)
        cpus = (facts.get("lshw") or {}).get("cpus") or []
        if len(cpus) != len(known):
            return {}
        order = [known[index] for index in sorted(known, key=lambda i: (len(i), i))]
        pairs = zip(order, cpus, strict=True)
        return {("socket", name): cpu.get(fact) for name, cpu in pairs}

    return read


def _numa(source: str, part: str) -> Read:
    def read(facts: Facts) -> Found:
        domains = (facts.get(source) or {}).get(part) or []
        return {("numa", str(d["os_index"])): d.get("memory") for d in domains}

    return read


def _cache(read_caches: Callable[[Facts], list[dict[str, Any]]], fact: str) -> Read:
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


def _hwloc_memory(facts: Facts) -> Found:
    domains = (facts.get("hwloc") or {}).get("numa") or []
    return {HOST: sum(domain.get("memory") or 0 for domain in domains) or None}


def _installed(facts: Facts) -> Found:
    slots = facts.get("memory_banks") or []
    return {HOST: sum(slot.get("size") or 0 for slot in slots) or None}


def _by_hwloc(facts: Facts) -> list[dict[str, Any]]:
    return (facts.get("hwloc") or {}).get("caches") or []


def _by_kernel(facts: Facts) -> list[dict[str, Any]]:
    return facts.get("cache_sets") or []


# ---- the rules -------------------------------------------------------------------

_BOARD = {
    ("board", "vendor"): ST.boardVendor,
    ("board", "model"): ST.boardModel,
    ("board", "serial"): ST.boardSerial,
    ("system", "vendor"): ST.systemVendor,
    ("system", "model"): ST.systemModel,
    ("system", "serial"): ST.systemSerial,
    ("system", "uuid"): ST.systemUuid,
    ("bios", "vendor"): ST.biosVendor,
    ("bios", "version"): ST.biosVersion,
    ("bios", "date"): ST.biosDate,
}
_DISK = {"model": ST.model, "serial": ST.serialNumber}
_DISK |= {"firmware": ST.firmwareVersion, "vendor": ST.vendor}
_BANK: dict[str, tuple[URIRef, Callable[[Any, Any], bool]]] = {
    "size": (ST.memorySize, same_text),
    "vendor": (ST.vendor, same_text),
    "model": (ST.model, same_text),
    "serial": (ST.serialNumber, same_text),
    "clock": (ST.clockRate, same_text),
}
_CACHE = {"size": ST.cacheSize, "line": ST.lineSize, "ways": ST.associativity}
_CACHE |= {"sets": ST.cacheSets}
_TOPOLOGY = frozenset({"cpu", "hwloc"})

RULES: tuple[Rule, ...] = (
    *(
        Rule(
            property_,
            (("board", _host("board", *path)), ("lshw", _host("lshw", *path))),
            same_text,
        )
        for path, property_ in _BOARD.items()
    ),
    Rule(
        ST.memorySize, (("os", _host("os", "memory")), ("hwloc", _hwloc_memory)), nearly
    ),
    Rule(
        ST.installedMemory,
        (("memory_banks", _installed), ("lshw", _host("lshw", "memory"))),
    ),
    Rule(
        ST.cpuModel,
        (
            ("cpu", _socket_cpu("name")),
            ("hwloc", _socket_hwloc("CPUModel")),
            ("lshw", _socket_lshw("model")),
        ),
        same_text,
        _TOPOLOGY,
    ),
    Rule(
        ST.microcode,
        (("cpu", _socket_cpu("microcode")), ("lshw", _socket_lshw("microcode"))),
        same_number,
        _TOPOLOGY,
    ),
    Rule(
        ST.memorySize,
        (("hwloc", _numa("hwloc", "numa")), ("memory", _numa("memory", "numa"))),
        nearly,
        _TOPOLOGY,
    ),
    *(
        Rule(
            property_,
            (
                ("hwloc", _cache(_by_hwloc, fact)),
                ("cache_sets", _cache(_by_kernel, fact)),
            ),
            elsewhere=_TOPOLOGY,
        )
        for fact, property_ in _CACHE.items()
    ),
    *(
        Rule(
            property_,
            (
                ("memory_banks", _bank("memory_banks", fact)),
                ("lshw", _bank("lshw", fact)),
            ),
            same,
        )
        for fact, (property_, same) in _BANK.items()
    ),
    # Of a SCSI disk the kernel sees 16 letters of the model and 4 of the firmware.
    *(
        Rule(
            property_,
            (
                ("smart", _smart(fact)),
                ("disks", _each("disk", "disks", fact)),
                ("lshw", _each("disk", "lshw", fact, "disks")),
            ),
            same_name,
        )
        for fact, property_ in _DISK.items()
    ),
    Rule(
        ST.diskSize,
        (("disks", _each("disk", "disks", "size")), ("smart", _smart("size"))),
    ),
    Rule(
        ST.macAddress,
        (
            ("nics", _each("nic", "nics", "mac")),
            ("lshw", _each("nic", "lshw", "mac", "nics")),
        ),
        same_text,
    ),
    Rule(
        ST.linkSpeed,
        (
            ("nics", _each("nic", "nics", "speed")),
            ("lshw", _each("nic", "lshw", "speed", "nics")),
        ),
    ),
    *(
        Rule(
            property_,
            (
                ("nics", _each("nic", "nics", fact)),
                ("lshw", _each("nic", "lshw", fact, "nics")),
            ),
            same_text,
        )
        for fact, property_ in {
            "firmware": ST.firmwareVersion,
            "driver": ST.driver,
            "ipv4": ST.ipv4Address,
            "businfo": ST.businfo,
            "model": ST.model,
            "serial": ST.serialNumber,
            "vendor": ST.vendor,
        }.items()
    ),
)
