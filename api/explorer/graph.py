"""The place of a component: what contains it, its parts, and what shares its caches."""

import asyncio
from dataclasses import dataclass, field, replace

from rdflib import URIRef

from core.stores.fuseki import GraphStore, Row
from ontology.terms import PREFIXES
from queries.catalogue import saved_query
from queries.natural_order import natural
from queries.terms import iri_term

# The order of parts: computing, then memory, then connections.
KINDS = {
    "socket": ("socket", "Sockets"),
    "die": ("die", "Dies"),
    "core": ("core", "Cores"),
    "thread": ("thread", "Threads"),
    "numa": ("NUMA domain", "NUMA domains"),
    "group": ("group", "Groups"),
    "cache": ("cache", "Caches"),
    "memory": ("memory bank", "Memory banks"),
    "disk": ("disk", "Disks"),
    "nic": ("network interface", "Network interfaces"),
    "gpu": ("GPU", "GPUs"),
    "osdev": ("device of the system", "Devices of the system"),
    "pci": ("PCI device", "PCI devices"),
    "tlb": ("TLB", "TLBs"),
    "pmu": ("PMU", "PMUs"),
    "pmda": ("PCP agent", "PCP agents"),
    "swap": ("swap area", "Swap areas"),
    "cgroup": ("control group hierarchy", "Control group hierarchies"),
    "hugepages": ("pool of huge pages", "Pools of huge pages"),
}
# Components with a short list of the threads that they share caches or memory with.
_USING = ("core", "thread", "cache")
_SHARING = (*_USING, "socket", "die", "group", "numa")
_PREFIXES = "".join(f"PREFIX {p}: <{PREFIXES[p]}>\n" for p in ("st", "rdfs"))


@dataclass(frozen=True)
class ComponentSummary:
    """A component with its kind from the IRI, its label, and its size."""

    iri: str
    kind: str
    label: str
    size: int | None = None
    parts: int = 0


@dataclass(frozen=True)
class Sharing:
    """One cache or NUMA domain with the OS indexes of the threads that use it."""

    iri: str
    label: str
    threads: tuple[int, ...]


@dataclass(frozen=True)
class ComponentPath:
    """``path`` leads from the host to the component itself."""

    path: tuple[ComponentSummary, ...] = ()
    parts: tuple[ComponentSummary, ...] = ()
    below: dict[str, int] = field(default_factory=dict)
    caches: tuple[Sharing, ...] = ()
    domains: tuple[Sharing, ...] = ()
    threads: frozenset[int] = frozenset()


async def find_place(store: GraphStore, host: str, iri: URIRef) -> ComponentPath:
    """Return the place of a host's component; empty if it is in no hierarchy."""
    path, parts, below = await asyncio.gather(
        _path(store, iri), find_parts(store, iri), _below(store, iri)
    )
    if not path:
        return ComponentPath()
    threads = frozenset(_number(part) for part in below if part.kind == "thread")
    place = ComponentPath(path, parts, _counts(below), threads=threads)
    return await _shared(store, host, place)


async def _shared(store: GraphStore, host: str, place: ComponentPath) -> ComponentPath:
    """Add the caches and memory of a component, with all threads that use them."""
    own = place.path[-1]
    if own.kind not in _SHARING:
        return place
    caches, domains = await asyncio.gather(_caches(store, host), _domains(store, host))
    threads = place.threads
    if own.kind == "thread":
        threads = frozenset([_number(own)])
    elif own.kind in ("cache", "numa"):
        caches = [one for one in caches if one.iri == own.iri]
        own_domains = [one for one in domains if one.iri == own.iri]
        threads = frozenset(cpu for s in (*caches, *own_domains) for cpu in s.threads)
    return replace(
        place,
        caches=_overlapping(caches, threads) if own.kind in _USING else (),
        domains=_overlapping(domains, threads),
        threads=threads,
    )


async def find_parts(store: GraphStore, iri: URIRef) -> tuple[ComponentSummary, ...]:
    """Return the direct parts, grouped by kind, in natural order."""
    rows = await store.rows(
        f"{_PREFIXES}SELECT ?s ?label ?size (COUNT(?part) AS ?parts) {{ "
        f"?s st:isPartOf {iri_term(iri)} OPTIONAL {{ ?s rdfs:label ?label }} "
        "OPTIONAL { ?s st:cacheSize ?size } OPTIONAL { ?part st:isPartOf ?s } } "
        "GROUP BY ?s ?label ?size"
    )
    return tuple(sorted((_part(row) for row in rows if "s" in row), key=_order))


def kind_of(iri: str) -> str:
    """Return ``core`` for ``…/node1/core/core-0``, ``host`` for ``…/node1``."""
    _, _, path = iri.partition("/twin/")
    return path.split("/")[1] if path.count("/") > 1 else "host"


async def _path(store: GraphStore, iri: URIRef) -> tuple[ComponentSummary, ...]:
    """Return the path from the host to the component, sorted by depth."""
    node = iri_term(iri)
    rows = await store.rows(
        f"{_PREFIXES}SELECT ?s ?label (COUNT(?above) AS ?parts) {{ "
        f"{node} st:isPartOf* ?s OPTIONAL {{ ?s rdfs:label ?label }} "
        "OPTIONAL { ?s st:isPartOf+ ?above } FILTER EXISTS { "
        "{ ?s st:isPartOf ?any } UNION { ?s st:hostname ?name } } } "
        "GROUP BY ?s ?label"
    )
    found = [_part(row) for row in rows if "s" in row]
    return tuple(sorted(found, key=lambda part: part.parts))


async def _below(store: GraphStore, iri: URIRef) -> list[ComponentSummary]:
    rows = await store.rows(
        f"{_PREFIXES}SELECT ?s {{ ?s st:isPartOf+ {iri_term(iri)} }}"
    )
    return [_part(row) for row in rows]


async def _caches(store: GraphStore, host: str) -> list[Sharing]:
    rows = await store.rows(saved_query("cache/groups").bind({"host": host}))
    return [
        Sharing(row["cache"].value, _cache_label(row), _cpus(row["cpus"].value))
        for row in rows
    ]


async def _domains(store: GraphStore, host: str) -> list[Sharing]:
    rows = await store.rows(saved_query("topology/numa").bind({"host": host}))
    return [
        Sharing(
            row["domain"].value,
            f"NUMA domain {row['numa'].value}",
            _cpus(row["cpus"].value),
        )
        for row in rows
    ]


def _cache_label(row: Row) -> str:
    letter = {"data": "d", "instruction": "i"}.get(row["type"].value, "")
    return f"L{row['level'].value}{letter}"


def _cpus(text: str) -> tuple[int, ...]:
    return tuple(int(cpu) for cpu in text.split(",") if cpu)


def _overlapping(found: list[Sharing], threads: frozenset[int]) -> tuple[Sharing, ...]:
    return tuple(one for one in found if threads.intersection(one.threads))


def _counts(below: list[ComponentSummary]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for part in sorted(below, key=_order):
        counts[part.kind] = counts.get(part.kind, 0) + 1
    return counts


def _part(row: Row) -> ComponentSummary:
    iri = row["s"].value
    label = row["label"].value if "label" in row else iri.rpartition("/")[2]
    return ComponentSummary(
        iri=iri,
        kind=kind_of(iri),
        label=label,
        size=int(row["size"].value) if "size" in row else None,
        parts=int(row["parts"].value) if "parts" in row else 0,
    )


def _number(part: ComponentSummary) -> int:
    last = part.iri.rpartition("/")[2]
    return int(last) if last.isdecimal() else -1


def _order(part: ComponentSummary) -> tuple[int, str, list[tuple[bool, int, str]]]:
    kinds = list(KINDS)
    place = kinds.index(part.kind) if part.kind in kinds else len(kinds)
    return place, part.kind, natural(part.iri)
