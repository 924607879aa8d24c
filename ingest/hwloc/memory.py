"""Memory in hwloc's XML: NUMA domains, memory-side caches and memory speeds."""

from typing import Any

from ingest.errors import TopologyError
from ingest.gaps import report_gap
from ingest.hwloc.xml import HwlocObject, Topology, cpus, whole
from ontology.numbers import read_whole

# hwloc's attributes in MiB/s and ns. It derives capacity and locality itself.
_MEASURES = (
    "Bandwidth",
    "ReadBandwidth",
    "WriteBandwidth",
    "Latency",
    "ReadLatency",
    "WriteLatency",
)


def find_numa(topology: Topology) -> list[dict[str, Any]]:
    """Find every NUMA domain, also those without CPUs; sizes in bytes.

    ``tier`` counts from the fastest memory. ``near`` are the closest CPUs of memory
    that is not local to any. Raises TopologyError.
    """
    domains = topology.all_things("NUMANode")
    if not domains:
        # hwloc 1 wrote no NUMA node for a machine with a single memory.
        memory = whole(topology.root, "local_memory")
        units = sorted(_index(unit) for unit in topology.all_things("PU"))
        known = sorted(topology.complete.union(units))
        return [_domain(0, known, known, memory)]
    return [
        _domain(
            _index(domain),
            domain.threads,
            topology.near(domain),
            whole(domain, "local_memory"),
            domain.subtype,
            _tier(domain),
        )
        for domain in domains
    ]


def find_memory_caches(topology: Topology) -> list[dict[str, Any]]:
    """Find every memory-side cache, with the NUMA domains behind it."""
    return [
        {
            "level": whole(cache, "depth") or 1,
            "size": whole(cache, "cache_size"),
            "line": whole(cache, "cache_linesize"),
            "ways": whole(cache, "cache_associativity"),
            "threads": cache.threads,
            "domains": behind,
        }
        for cache in topology.all_things("MemCache")
        if (behind := _behind(cache, topology))
    ]


def find_memory_speeds(topology: Topology) -> list[dict[str, Any]]:
    """Find the measured speeds of NUMA domains: MiB/s or ns, from some CPUs if given.

    Raises TopologyError.
    """
    marked = {thing.mark: thing for thing in topology.objects if thing.mark}
    return [
        {
            "numa": target.os_index,
            "measure": element.get("name"),
            "value": _value(value.get("value", "")),
            "threads": _initiator(value, marked),
        }
        for element in topology.element.findall("memattr")
        if element.get("name") in _MEASURES
        for value in element.findall("memattr_value")
        if (target := _target(value, marked))
    ]


def _target(value: Any, marked: dict[str, HwlocObject]) -> HwlocObject | None:
    """The NUMA domain that a value was measured for."""
    mark = value.get("target_obj_gp_index", "")
    target = marked.get(mark)
    if target is None or target.kind != "NUMANode":
        report_gap("target_obj_gp_index of a memory attribute", mark, "a NUMANode's")
        return None
    return target


def _domain(
    index: int,
    threads: list[int],
    near: list[int],
    memory: int | None,
    subtype: str | None = None,
    tier: int | None = None,
) -> dict[str, Any]:
    return {
        "os_index": index,
        "threads": threads,
        "near": near,
        "memory": memory,
        "subtype": subtype,
        "tier": tier,
    }


def _index(thing: HwlocObject) -> int:
    if thing.os_index is None:
        raise TopologyError(
            f"a {thing.kind} of the hwloc XML has no os_index: export it again with "
            "`lstopo --of xml`"
        )
    return thing.os_index


def _tier(domain: HwlocObject) -> int | None:
    text = domain.info.get("MemoryTier")
    try:
        return None if text is None else read_whole(text)
    except ValueError:
        what = f"MemoryTier of NUMANode {domain.os_index}"
        report_gap(what, text, "a whole number")
        return None


def _behind(cache: HwlocObject, topology: Topology) -> list[int]:
    return [
        _index(domain)
        for domain in topology.all_things("NUMANode")
        if cache.place in (thing.place for thing in topology.above(domain))
    ]


def _initiator(value: Any, marked: dict[str, HwlocObject]) -> list[int]:
    if "initiator_cpuset" in value.attrib:
        return cpus(value, "initiator_cpuset")
    mark = value.get("initiator_obj_gp_index")
    thing = marked.get(mark or "")
    if mark and not thing:
        report_gap("initiator_obj_gp_index of a memory attribute", mark, "an object's")
    return thing.threads if thing else []


def _value(text: str) -> int:
    try:
        return read_whole(text)
    except ValueError:
        raise TopologyError(
            f"a memory attribute of the hwloc XML is {text[:40]!r}, not a number: "
            "export it again with `lstopo --of xml`"
        ) from None
