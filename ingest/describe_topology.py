"""Sockets, dies, cores, threads, caches, Groups and NUMA domains."""

from typing import Any

from rdflib import URIRef

from ingest import component_ids as ids
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST

Components = dict[str, URIRef]
Held = tuple[frozenset[int], URIRef]

_CACHE_TYPES = {
    "data": ST.DataCache,
    "instruction": ST.InstructionCache,
    "unified": ST.UnifiedCache,
}


def describe_topology(
    triples: Triples, iris: Iris, host: str, facts: dict[str, Any]
) -> Components:
    """Describe the hwloc topology; the answer maps PCP's instance names to components.

    `cpu3` is a thread and `node1` a NUMA domain in every instance domain of PCP.
    """
    topology = facts.get("hwloc")
    if not topology:
        return {}
    return _Topology(triples, iris, host, facts, topology).describe()


class _Topology:
    """One walk through a topology, from the largest container to the threads."""

    def __init__(
        self,
        triples: Triples,
        iris: Iris,
        host: str,
        facts: dict[str, Any],
        topology: dict[str, Any],
    ) -> None:
        self.triples, self.iris, self.host = triples, iris, host
        self.facts, self.topology = facts, topology
        everything = frozenset(t["os_index"] for t in topology["threads"])
        # smallest container last: a parent is the last one that holds all threads
        self.containers: list[Held] = [(everything, iris.host(host))]

    def describe(self) -> Components:
        for kind, name, class_ in (
            ("sockets", "socket", ST.Socket),
            ("dies", "die", ST.Die),
            ("cores", "core", ST.Core),
        ):
            self._containers(kind, name, class_)
        self._sockets_facts()
        self._clocks()
        self._groups()
        caches, domains = self._caches(), self._numa_domains()
        self._distances()
        self._threads(caches, domains)
        return self._instance_names()

    def _parent(self, threads: frozenset[int]) -> URIRef:
        return next(
            iri
            for held, iri in reversed(self.containers)
            if threads and threads <= held
        )

    def _containers(self, kind: str, name: str, class_: URIRef) -> None:
        """All objects of one kind; they contain only what is described after them."""
        found = []
        for entry in self.topology[kind]:
            threads = frozenset(entry["threads"])
            if not threads:
                continue
            iri = self._iri(name, ids.container(name, threads))
            self.triples.node(
                iri,
                class_,
                {ST.osIndex: entry["os_index"], ST.isPartOf: self._parent(threads)},
                label=f"{name} of {_span(threads)}",
            )
            found.append((threads, iri))
        self.containers += found

    def _sockets_facts(self) -> None:
        stated = (self.facts.get("cpu") or {}).get("sockets") or {}
        for entry in self.topology["sockets"]:
            if not entry["threads"]:
                continue
            cpu = stated.get(str(entry["os_index"])) or {}
            info = entry.get("info") or {}
            iri = self._iri("socket", ids.container("socket", entry["threads"]))
            self.triples.link(
                iri,
                {
                    ST.cpuModel: cpu.get("name") or info.get("CPUModel"),
                    ST.cpuVendor: cpu.get("vendor") or info.get("CPUVendor"),
                    ST.cpuFamily: cpu.get("family") or info.get("CPUFamilyNumber"),
                    ST.cpuModelNumber: cpu.get("model") or info.get("CPUModelNumber"),
                    ST.stepping: cpu.get("stepping") or info.get("CPUStepping"),
                    ST.microcode: cpu.get("microcode"),
                    ST.cpuFlag: cpu.get("flags"),
                },
            )

    def _clocks(self) -> None:
        """Clocks of a core are those of its lowest thread that states any."""
        clocks = self.facts.get("clocks") or {}
        for entry in self.topology["cores"]:
            stated = (clocks.get(str(thread)) for thread in entry["threads"])
            clock = next(filter(None, stated), None)
            if clock:
                self.triples.link(
                    self._iri("core", ids.container("core", entry["threads"])),
                    {
                        ST.baseFrequency: clock.get("base"),
                        ST.minFrequency: clock.get("min"),
                        ST.maxFrequency: clock.get("max"),
                        ST.frequencyGovernor: clock.get("governor"),
                    },
                )

    def _groups(self) -> None:
        for entry in self.topology["groups"]:
            threads = frozenset(entry["threads"])
            if threads:
                self.triples.node(
                    self._iri("group", ids.group(entry["level"], threads)),
                    ST.Group,
                    {
                        ST.isPartOf: self._parent(threads),
                        ST.groupKind: entry.get("subtype"),
                    },
                    label=f"group of {_span(threads)}",
                )

    def _caches(self) -> list[Held]:
        found = []
        for entry in self.topology["caches"]:
            threads = frozenset(entry["threads"])
            if threads:
                found.append((threads, self._cache(entry, threads)))
        return found

    def _cache(self, entry: dict[str, Any], threads: frozenset[int]) -> URIRef:
        level = ids.cache_level(entry["level"], entry["type"])
        iri = self._iri("cache", ids.container(level.lower(), threads))
        return self.triples.node(
            iri,
            ST.Cache,
            {
                ST.cacheLevel: entry["level"],
                ST.cacheType: _CACHE_TYPES[entry["type"]],
                ST.cacheSize: entry["size"],
                ST.lineSize: entry["line"] or None,
                ST.associativity: entry["ways"],
                ST.cacheSets: entry["sets"],
                ST.inclusive: entry["inclusive"],
                ST.isPartOf: self._parent(threads),
            },
            label=f"{level} of {_span(threads)}",
        )

    def _numa_domains(self) -> list[Held]:
        found = []
        for entry in self.topology["numa"]:
            threads = frozenset(entry["threads"])
            parent = self._parent(threads) if threads else self.iris.host(self.host)
            iri = self._iri("numa", str(entry["os_index"]))
            self.triples.node(
                iri,
                ST.NumaDomain,
                {
                    ST.osIndex: entry["os_index"],
                    ST.memorySize: entry["memory"],
                    ST.isPartOf: parent,
                },
                label=f"NUMA domain {entry['os_index']}",
            )
            found.append((threads, iri))
        return found

    def _distances(self) -> None:
        """The kernel's distances where /sys states them, else hwloc's."""
        known = {entry["os_index"] for entry in self.topology["numa"]}
        stated = self.facts.get("numa_distances") or self.topology["distances"]
        for entry in stated:
            ends = entry["from"], entry["to"]
            if known.issuperset(ends):
                self.triples.node(
                    self._iri("distance", f"{ends[0]}-{ends[1]}"),
                    ST.NumaDistance,
                    {
                        ST.fromDomain: self._iri("numa", str(ends[0])),
                        ST.toDomain: self._iri("numa", str(ends[1])),
                        ST.distance: entry["value"],
                    },
                )

    def _threads(
        self,
        caches: list[Held],
        domains: list[Held],
    ) -> None:
        for entry in self.topology["threads"]:
            index = entry["os_index"]
            self.triples.node(
                self._iri("thread", str(index)),
                ST.HardwareThread,
                {
                    ST.osIndex: index,
                    ST.allowed: entry["allowed"],
                    ST.isPartOf: self._parent(frozenset([index])),
                    ST.usesCache: [iri for held, iri in caches if index in held],
                    ST.inNumaDomain: [iri for held, iri in domains if index in held],
                },
                label=f"thread {index}",
            )

    def _instance_names(self) -> Components:
        names = {
            f"cpu{t['os_index']}": self._iri("thread", str(t["os_index"]))
            for t in self.topology["threads"]
        }
        for numa in self.topology["numa"]:
            index = numa["os_index"]
            names[f"node{index}"] = self._iri("numa", str(index))
        return names

    def _iri(self, kind: str, name: str) -> URIRef:
        return self.iris.component(self.host, kind, name)


def _span(threads: frozenset[int]) -> str:
    """`threads 0-3,8` — a cpu list as the kernel writes it."""
    runs: list[list[int]] = []
    for index in sorted(threads):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    text = ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
    return f"thread{'s' if len(threads) > 1 else ''} {text}"
