"""Describe sockets, dies, cores and their kinds, threads, caches and Groups."""

from rdflib import URIRef

from ingest.describe import component_ids as ids
from ingest.describe.memory import describe_memory
from ingest.describe.places import Held, HostTopology, span
from ingest.schema.schema import CpuModel, Facts, ThreadClock
from ingest.schema.topology import Cache, Container, CoreKind, Hwloc, HwlocGroup
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST

Components = dict[str, URIRef]

_CLASSES = {"socket": ST.Socket, "die": ST.Die, "core": ST.Core}
_CACHE_TYPES = {
    "data": ST.DataCache,
    "instruction": ST.InstructionCache,
    "unified": ST.UnifiedCache,
}
_UNKNOWN = CpuModel()
# Arm's names in hwloc for the numbers that /proc/cpuinfo has.
_ARM = {
    "CPUVendor": "CPUImplementer",
    "CPUFamilyNumber": "CPUArchitecture",
    "CPUModelNumber": "CPUPart",
    "CPUStepping": "CPURevision",
}


def describe_topology(
    triples: Triples, iris: Iris, host: str, facts: Facts
) -> Components:
    """Describe the hwloc topology; return components by PCP instance name.

    `cpu3` is a thread and `node1` a NUMA domain in every instance domain of PCP.
    """
    return _Topology(triples, iris, host, facts).describe()


class _Topology:
    """One pass over a topology, from the largest container to the threads."""

    def __init__(self, triples: Triples, iris: Iris, host: str, facts: Facts) -> None:
        self.triples, self.facts, self.topology = triples, facts, facts.hwloc
        self.places = HostTopology(iris, host, facts.hwloc)

    def describe(self) -> Components:
        for depth, (name, entries) in enumerate(self.places.containers, start=1):
            self._containers(name, entries, depth)
        self._sockets_facts()
        self._clocks()
        groups = self._groups()
        caches = self._caches()
        domains = describe_memory(self.triples, self.places, self.facts)
        self._threads(caches, domains, groups, self._kinds())
        return self._instance_names()

    def _containers(self, name: str, entries: list[Container], depth: int) -> None:
        """Describe all objects of one kind; each is part of one of a larger kind."""
        for entry in entries:
            threads = entry.threads
            if threads:
                self.triples.node(
                    self.places.container(name, entry),
                    _CLASSES[name],
                    {
                        ST.osIndex: entry.os_index,
                        ST.isPartOf: self.places.parent(threads, depth),
                    },
                    label=f"{name} of {span(threads)}",
                )

    def _sockets_facts(self) -> None:
        for entry in self.topology.sockets:
            if not entry.threads:
                continue
            info = _named_as_on_x86(entry.info)
            cpu = self.facts.cpu.sockets.get(str(entry.os_index), _UNKNOWN)
            iri = self.places.container("socket", entry)
            self.triples.link(
                iri,
                {
                    ST.cpuModel: cpu.name or info.get("CPUModel"),
                    ST.cpuVendor: cpu.vendor or info.get("CPUVendor"),
                    ST.cpuFamily: cpu.family or info.get("CPUFamilyNumber"),
                    ST.cpuModelNumber: cpu.model or info.get("CPUModelNumber"),
                    ST.stepping: cpu.stepping or info.get("CPUStepping"),
                    ST.microcode: cpu.microcode,
                    ST.cpuFlag: cpu.flags,
                },
            )

    def _clocks(self) -> None:
        """A core has the clocks of its lowest thread that has any."""
        clocks = self.facts.clocks or _kinds_clocks(self.topology)
        for entry in self.topology.cores:
            stated = (clocks.get(str(thread)) for thread in entry.threads)
            clock = next(filter(None, stated), None)
            if clock:
                self.triples.link(
                    self.places.container("core", entry),
                    {
                        ST.baseFrequency: clock.base,
                        ST.minFrequency: clock.min,
                        ST.maxFrequency: clock.max,
                        ST.frequencyGovernor: clock.governor,
                    },
                )

    def _groups(self) -> list[Held]:
        return [
            (frozenset(entry.threads), self._group(entry))
            for entry in self.topology.groups
            if entry.threads
        ]

    def _group(self, entry: HwlocGroup) -> URIRef:
        return self.triples.node(
            self._iri("group", ids.group(entry.level, entry.threads)),
            ST.Group,
            {
                ST.isPartOf: self.places.parent(entry.threads),
                ST.groupKind: entry.subtype,
            },
            label=f"group of {span(entry.threads)}",
        )

    def _caches(self) -> list[Held]:
        found = []
        for entry in self.topology.caches:
            threads = frozenset(entry.threads)
            if threads:
                found.append((threads, self._cache(entry, threads)))
        return found

    def _cache(self, entry: Cache, threads: frozenset[int]) -> URIRef:
        level = ids.cache_level(entry.level, entry.type)
        iri = self._iri("cache", ids.container(level.lower(), threads))
        return self.triples.node(
            iri,
            ST.Cache,
            {
                ST.cacheLevel: entry.level,
                ST.cacheType: _CACHE_TYPES[entry.type],
                ST.cacheSize: entry.size,
                ST.lineSize: entry.line or None,
                ST.associativity: entry.ways,
                ST.cacheSets: entry.sets,
                ST.inclusive: entry.inclusive,
                ST.isPartOf: self.places.parent(threads),
            },
            label=f"{level} of {span(threads)}",
        )

    def _kinds(self) -> list[Held]:
        """The kinds of cores of a hybrid machine; empty if all cores are alike."""
        kinds = self.topology.kinds
        return [
            (frozenset(kind.threads), self._kind(number, kind))
            for number, kind in enumerate(kinds)
            if len(kinds) > 1
        ]

    def _kind(self, number: int, kind: CoreKind) -> URIRef:
        return self.triples.node(
            self._iri("kind", str(number)),
            ST.CpuKind,
            {
                ST.kindNumber: number,
                ST.coreType: kind.core_type,
                ST.performanceRank: kind.rank,
                ST.cpuCapacity: kind.efficiency,
            },
            label=f"cores of {span(kind.threads)}",
        )

    def _threads(
        self,
        caches: list[Held],
        domains: list[Held],
        groups: list[Held],
        kinds: list[Held],
    ) -> None:
        for entry in self.topology.threads:
            index = entry.os_index
            self.triples.node(
                self._iri("thread", str(index)),
                ST.HardwareThread,
                {
                    ST.osIndex: index,
                    ST.allowed: entry.allowed,
                    ST.isPartOf: self.places.parent([index]),
                    ST.usesCache: [iri for held, iri in caches if index in held],
                    ST.inNumaDomain: [iri for held, iri in domains if index in held],
                    ST.inGroup: [iri for held, iri in groups if index in held],
                    ST.ofCpuKind: [iri for held, iri in kinds if index in held],
                },
                label=f"thread {index}",
            )

    def _instance_names(self) -> Components:
        names = {
            f"cpu{t.os_index}": self._iri("thread", str(t.os_index))
            for t in self.topology.threads
        }
        for numa in self.topology.numa:
            index = numa.os_index
            names[f"node{index}"] = self._iri("numa", str(index))
        return names

    def _iri(self, kind: str, name: str) -> URIRef:
        return self.places.component(kind, name)


def _named_as_on_x86(info: dict[str, str]) -> dict[str, str]:
    """hwloc's facts of a processor, with Arm's names mapped to those of x86."""
    named = {ours: info[arms] for ours, arms in _ARM.items() if arms in info}
    return {**named, **info}


def _kinds_clocks(topology: Hwloc) -> dict[str, ThreadClock | None]:
    """hwloc's clocks, used if no other source gives any."""
    return {
        str(thread): ThreadClock(base=kind.base, max=kind.max)
        for kind in topology.kinds
        for thread in kind.threads
    }
