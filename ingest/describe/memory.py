"""Describe NUMA domains: memory, memory-side caches, distances and speeds."""

from rdflib import URIRef

from ingest.describe.places import Held, HostTopology
from ingest.schema.schema import Facts
from ingest.schema.topology import MemorySpeed, Numa
from ingest.triples import Triples
from ontology.terms import ST

_MEBI = 1024 * 1024
# hwloc's measures in MiB/s, then those in ns.
_RATES = {
    "Bandwidth": ST.bandwidth,
    "ReadBandwidth": ST.readBandwidth,
    "WriteBandwidth": ST.writeBandwidth,
}
_TIMES = {
    "Latency": ST.latency,
    "ReadLatency": ST.readLatency,
    "WriteLatency": ST.writeLatency,
}


def describe_memory(triples: Triples, places: HostTopology, facts: Facts) -> list[Held]:
    """Describe a host's memory; return its NUMA domains with their threads."""
    found = [_domain(triples, places, entry) for entry in places.topology.numa]
    _memory_caches(triples, places)
    _distances(triples, places, facts)
    _speeds(triples, places)
    return found


def _domain(triples: Triples, places: HostTopology, entry: Numa) -> Held:
    index, threads = entry.os_index, entry.threads
    iri = triples.node(
        places.component("numa", str(index)),
        ST.NumaDomain,
        {
            ST.osIndex: index,
            ST.memorySize: entry.memory,
            ST.memoryTechnology: entry.subtype,
            ST.memoryTier: entry.tier,
            ST.isPartOf: places.parent(threads or entry.near),
        },
        label=f"NUMA domain {index}",
    )
    return frozenset(threads), iri


def _memory_caches(triples: Triples, places: HostTopology) -> None:
    known = {entry.os_index for entry in places.topology.numa}
    for entry in places.topology.memory_caches:
        behind = sorted(known.intersection(entry.domains))
        if not behind:
            continue
        triples.node(
            places.component("memcache", f"m{entry.level}-{behind[0]}"),
            ST.MemorySideCache,
            {
                ST.cacheLevel: entry.level,
                ST.cacheType: ST.UnifiedCache,
                ST.cacheSize: entry.size,
                ST.lineSize: entry.line,
                ST.associativity: entry.ways,
                ST.cachesDomain: [places.component("numa", str(n)) for n in behind],
                ST.isPartOf: places.parent(entry.threads),
            },
            label=f"memory-side cache of NUMA domain {', '.join(map(str, behind))}",
        )


def _distances(triples: Triples, places: HostTopology, facts: Facts) -> None:
    """Describe the distances from /sys if known, else hwloc's."""
    known = {entry.os_index for entry in places.topology.numa}
    for entry in facts.numa_distances or places.topology.distances:
        ends = entry.start, entry.to
        if known.issuperset(ends):
            triples.node(
                places.component("distance", f"{ends[0]}-{ends[1]}"),
                ST.NumaDistance,
                {
                    ST.fromDomain: places.component("numa", str(ends[0])),
                    ST.toDomain: places.component("numa", str(ends[1])),
                    ST.distance: entry.value,
                },
            )


def _speeds(triples: Triples, places: HostTopology) -> None:
    """Describe one node per domain and place from which its speed was measured."""
    known = {entry.os_index for entry in places.topology.numa}
    for entry in places.topology.memory_speeds:
        if entry.numa not in known:
            continue
        from_ = places.parent(entry.threads)
        triples.node(
            _speed_iri(places, entry),
            ST.MemorySpeed,
            {
                ST.speedOf: places.component("numa", str(entry.numa)),
                ST.measuredFrom: from_,
                **_measure(entry),
            },
        )


def _speed_iri(places: HostTopology, entry: MemorySpeed) -> URIRef:
    threads = entry.threads
    seen = f"-{min(threads)}-{max(threads)}-{len(threads)}" if threads else ""
    return places.component("speed", f"{entry.numa}{seen}")


def _measure(entry: MemorySpeed) -> dict[URIRef, int]:
    name, value = entry.measure, entry.value
    if name in _RATES:
        return {_RATES[name]: value * _MEBI}
    return {_TIMES[name]: value} if name in _TIMES else {}
