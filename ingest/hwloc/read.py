"""The topology of a machine, from hwloc's XML (versions 1, 2 and 3)."""

from collections import Counter
from typing import Any

from ingest.errors import TopologyError
from ingest.hwloc.distances import find_distances
from ingest.hwloc.kinds import find_kinds
from ingest.hwloc.memory import find_memory_caches, find_memory_speeds, find_numa
from ingest.hwloc.pci import find_os_devices, find_pci
from ingest.hwloc.xml import MAX_CPUS, HwlocObject, Topology, parse_topology, whole
from ingest.sources.files import read_file
from ingest.sources.machine import HERE, Machine

__all__ = ["parse_hwloc", "read_file", "read_hwloc"]

# Ten times the size of the largest known machines.
MAX_DRAWN = 16 * 1024 * 1024
_HOLD_THREADS = ("cores", "dies", "sockets", "groups", "caches", "numa")
_CACHE_TYPES = {0: "unified", 1: "data", 2: "instruction"}


def read_hwloc(machine: Machine = HERE) -> dict[str, Any]:
    """Read the topology of a machine; raises ProbeSourceError."""
    return parse_hwloc(machine.tool("lstopo"))


def parse_hwloc(xml: bytes) -> dict[str, Any]:
    """Parse the facts in an hwloc XML file; sizes in bytes, CPUs as OS indexes.

    Objects without threads (online or offline) are left out, except NUMA domains:
    memory without CPUs is real. ``xml`` is the file itself, for drawing; None if it is
    too large. Raises TopologyError.
    """
    topology = parse_topology(xml)
    threads = _threads(topology)
    facts = {
        "version": topology.version,
        "threads": threads,
        "cores": [_indexed(core) for core in topology.things("Core")],
        "dies": [_indexed(die) for die in topology.things("Die")],
        "sockets": [_socket(thing, topology) for thing in topology.things("Package")],
        "groups": [_group(group) for group in topology.things("Group")],
        "caches": [_cache(cache) for cache in topology.things("Cache")],
        "numa": find_numa(topology),
        "distances": find_distances(topology),
        "memory_caches": find_memory_caches(topology),
        "memory_speeds": find_memory_speeds(topology),
        "kinds": find_kinds(topology),
        "pci": find_pci(topology),
        "os_devices": find_os_devices(topology),
        "info": topology.info,
        "xml": _text(xml),
    }
    _refuse(contradiction(facts))
    _refuse(_outside(topology))
    return facts


def contradiction(facts: dict[str, Any]) -> str:
    """Describe a contradiction in the facts of one machine; empty if there is none."""
    threads = [thread["os_index"] for thread in facts["threads"]]
    domains = [domain["os_index"] for domain in facts["numa"]]
    known = set(threads)
    findings = [_repeated("PU", threads), _repeated("NUMANode", domains)]
    findings += [_overlap(name, facts[name], known) for name in _HOLD_THREADS]
    return next(filter(None, findings), "")


def _refuse(finding: str) -> None:
    if finding:
        raise TopologyError(
            f"in the hwloc XML, {finding}: export it again with `lstopo --of xml`"
        )


def _repeated(kind: str, indexes: list[int]) -> str:
    twice = [index for index, times in Counter(indexes).items() if times > 1]
    return f"{kind} {min(twice)} occurs twice" if twice else ""


def _overlap(name: str, things: list[dict[str, Any]], known: set[int]) -> str:
    seen: set[tuple[Any, ...]] = set()
    for thing in things:
        kind = (thing.get("level"), thing.get("type"))
        claimed = {(*kind, cpu) for cpu in thing["threads"]}
        if not known.issuperset(thing["threads"]):
            return f"one of the {name} has a CPU that the machine does not have"
        if name != "numa" and seen & claimed:
            return f"two of the {name} have the same CPU {min(seen & claimed)[-1]}"
        seen |= claimed
    return ""


def _text(xml: bytes) -> str | None:
    try:
        return xml.decode() if len(xml) <= MAX_DRAWN else None
    except UnicodeDecodeError:  # hwloc itself writes UTF-8
        return None


def _threads(topology: Topology) -> list[dict[str, Any]]:
    units = [_os_index(unit) for unit in topology.all_things("PU")]
    if not units:
        raise TopologyError(
            "the hwloc XML contains no PU: export it again with `lstopo --of xml`"
        )
    _refuse(_repeated("PU", units))
    _refuse(_elsewhere(topology.all_things("PU")))
    allowed = topology.allowed.intersection(units)
    known = sorted(topology.complete.union(units))
    return [{"os_index": cpu, "allowed": cpu in allowed} for cpu in known]


def _elsewhere(units: list[HwlocObject]) -> str:
    """Find a PU with a CPU set other than itself; hwloc itself would hang on some."""
    for unit in units:
        index = _os_index(unit)
        if unit.threads not in ([], [index]) or index >= MAX_CPUS:
            return f"PU {index} has the CPU set of other PUs"
    return ""


def _outside(topology: Topology) -> str:
    """Find an object with CPUs that its parent does not have."""
    # Build each set once: a file may hold thousands of objects with thousands of CPUs.
    held: dict[int, frozenset[int]] = {}
    for thing in topology.objects:
        if not thing.threads or thing.parent is None:
            continue
        above = topology.objects[thing.parent]
        if above.place not in held:
            held[above.place] = frozenset(above.threads)
        if above.threads and not held[above.place].issuperset(thing.threads):
            return f"a {thing.kind} has CPUs that its {above.kind} does not have"
    return ""


def _os_index(thing: HwlocObject) -> int:
    if thing.os_index is None:
        raise TopologyError(
            f"a {thing.kind} of the hwloc XML has no os_index: export it again with "
            "`lstopo --of xml`"
        )
    return thing.os_index


def _indexed(thing: HwlocObject) -> dict[str, Any]:
    return {"os_index": thing.os_index, "threads": thing.threads}


def _socket(thing: HwlocObject, topology: Topology) -> dict[str, Any]:
    # Some back ends give the CPU model only on the machine's root object.
    shared = {key: text for key, text in topology.info.items() if key[:3] == "CPU"}
    return {**_indexed(thing), "info": {**shared, **thing.info}}


def _group(thing: HwlocObject) -> dict[str, Any]:
    return {
        "level": thing.level,
        "threads": thing.threads,
        "subtype": thing.subtype,
    }


def _cache(thing: HwlocObject) -> dict[str, Any]:
    size = whole(thing, "cache_size")
    line = whole(thing, "cache_linesize")
    ways = whole(thing, "cache_associativity")
    kind = whole(thing, "cache_type") or 0
    level = whole(thing, "depth")
    if level is None or kind not in _CACHE_TYPES:
        raise TopologyError(
            "a cache of the hwloc XML has no known level and type: export it again "
            "with `lstopo --of xml`"
        )
    return {
        "level": level,
        "type": _CACHE_TYPES[kind],
        "size": size,
        "line": line,
        "ways": ways,
        "sets": _sets(size, line, ways),
        "inclusive": {"0": False, "1": True}.get(thing.info.get("Inclusive", "")),
        "threads": thing.threads,
    }


def _sets(size: int | None, line: int | None, ways: int | None) -> int | None:
    if not size or not line or not ways or size % (line * ways):
        return None
    return size // (line * ways)
