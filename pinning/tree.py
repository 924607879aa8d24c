"""The tree in which threads are placed, built from the rows of two saved queries.

``pinning/threads`` names the components that contain each thread, and
``pinning/components`` describes these components.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pinning.branches import Branch, branches, leaves
from pinning.errors import PlaceError

# What two threads may share, smallest first: the word in a policy, and in full.
KINDS = {
    "core": "core",
    "l1": "L1 cache",
    "l2": "L2 cache",
    "l3": "L3 cache",
    "die": "die",
    "numa": "NUMA domain",
    "socket": "socket",
}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class ThreadDomain:
    """A core, cache, Group, die, NUMA domain or socket, with all of its threads.

    ``number`` is the operating system's, ``memory`` in bytes; both may be unknown.
    """

    kind: str
    iri: str
    cpus: frozenset[int]
    number: int | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Tree:
    """A host's threads: all ``cpus``, and those that are ``allowed``."""

    host: str
    cpus: frozenset[int]
    allowed: frozenset[int]
    things: tuple[ThreadDomain, ...]

    def check(self) -> None:
        """Raise PlaceError if nothing can be placed in the tree."""
        if not self.allowed:
            raise PlaceError(f"the threads of {self.host} are unknown: probe it")

    @cached_property
    def root(self) -> Branch:
        """hwloc's tree of containment, without memory."""
        held = (thing.cpus for thing in self.things if thing.kind != "numa")
        return branches(self.cpus, held)

    @cached_property
    def order(self) -> dict[int, int]:
        """The position of each thread in the tree: SMT siblings, cores, caches, ..."""
        return {cpu: place for place, cpu in enumerate(leaves(self.root))}

    @cached_property
    def _domains(self) -> dict[str, list[ThreadDomain]]:
        known: dict[str, list[ThreadDomain]] = defaultdict(list)
        for thing in self.things:
            known[thing.kind].append(thing)
        known["numa"] = _nearest(known["numa"])
        for found in known.values():
            found.sort(key=lambda one: min(self.order[cpu] for cpu in one.cpus))
        return known

    def domains(self, kind: str) -> Sequence[ThreadDomain]:
        """All domains of a kind, in the order of the tree.

        A NUMA domain has only the threads to which it is nearest, so no two share one.
        """
        return self._domains.get(kind, [])

    @cached_property
    def _of(self) -> dict[str, dict[int, ThreadDomain]]:
        return {
            kind: {cpu: one for one in found for cpu in one.cpus}
            for kind, found in self._domains.items()
        }

    def domain(self, kind: str, cpu: int) -> ThreadDomain | None:
        """The domain of a kind that contains a thread; None if there is none."""
        return self._of.get(kind, {}).get(cpu)


def read_tree(host: str, threads: Iterable[Row], components: Iterable[Row]) -> Tree:
    """The tree of one host from the rows of both queries; it may have no threads."""
    held: dict[str, set[int]] = defaultdict(set)
    allowed, within, cpus = set(), dict[int, list[str]](), set()
    for row in threads:
        cpu = int(row["cpu"])
        cpus.add(cpu)
        within[cpu] = str(row["within"]).split(" ")
        if row["allowed"]:
            allowed.add(cpu)
    known = list(components)
    above = {str(row["component"]): str(row["within"]) for row in known}
    for cpu, names in within.items():
        for name in names:
            _climb(held, above, name, cpu)
    things = (_domain(row, held[str(row["component"])]) for row in known)
    return Tree(
        host,
        frozenset(cpus),
        frozenset(allowed),
        tuple(thing for thing in things if thing.cpus),
    )


def _climb(
    held: dict[str, set[int]], above: Mapping[str, str], name: str, cpu: int
) -> None:
    """Add a thread to a component and to everything that contains the component."""
    while name in above and cpu not in held[name]:
        held[name].add(cpu)
        name = above[name]


def _domain(row: Row, cpus: set[int]) -> ThreadDomain:
    kind = f"l{row['level']}" if row["kind"] == "cache" else str(row["kind"])
    return ThreadDomain(
        kind, str(row["component"]), frozenset(cpus), row["number"], row["memory"]
    )


def _nearest(domains: Sequence[ThreadDomain]) -> list[ThreadDomain]:
    """Assign each thread to one domain: the smallest that contains it.

    Of two equally small domains, prefer one with memory, then the lower number: Linux
    numbers high-bandwidth and CXL memory after ordinary memory.
    """
    mine: dict[int, ThreadDomain] = {}
    for one in sorted(domains, key=_nearness):
        for cpu in one.cpus:
            mine.setdefault(cpu, one)
    kept: dict[str, set[int]] = defaultdict(set)
    for cpu, one in mine.items():
        kept[one.iri].add(cpu)
    return [
        ThreadDomain("numa", one.iri, frozenset(kept[one.iri]), one.number, one.memory)
        for one in domains
        if one.iri in kept
    ]


def _nearness(one: ThreadDomain) -> tuple[int, bool, int]:
    return len(one.cpus), one.memory == 0, one.number or 0
