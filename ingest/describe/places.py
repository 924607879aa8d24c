"""Locate parts of a machine by the containers that hold their threads."""

from collections.abc import Collection

from rdflib import URIRef

from ingest.describe import component_ids as ids
from ingest.schema.topology import Container, Hwloc
from ontology.iris import Iris

Held = tuple[frozenset[int], URIRef]


class HostTopology:
    """The host, its sockets, dies, cores and threads, from hwloc's facts."""

    def __init__(self, iris: Iris, host: str, topology: Hwloc) -> None:
        self.iris, self.host, self.topology = iris, host, topology
        self.containers = (
            ("socket", topology.sockets),
            ("die", topology.dies),
            ("core", topology.cores),
        )
        everything = frozenset(t.os_index for t in topology.threads)
        self._levels: list[list[Held]] = [[(everything, iris.host(host))]]
        for name, entries in self.containers:
            self._levels.append([self._held(name, entry) for entry in entries])

    def parent(self, threads: Collection[int], depth: int | None = None) -> URIRef:
        """The smallest container of some threads; the host if there are none.

        The search is limited to the ``depth`` largest kinds: 1 is the host alone.
        """
        wanted = frozenset(threads)
        for level in reversed(self._levels[:depth]):
            for held, iri in reversed(level):
                if wanted and wanted <= held:
                    return iri
        return self.iris.host(self.host)

    def container(self, name: str, entry: Container) -> URIRef:
        """The IRI of a socket, die or core."""
        return self.component(name, ids.container(name, entry.threads))

    def component(self, kind: str, id_: str) -> URIRef:
        """The IRI of any component of this host."""
        return self.iris.component(self.host, kind, id_)

    def domains(self, threads: Collection[int]) -> list[URIRef]:
        """The NUMA domains nearest to some threads: the smallest that hold them all.

        If no domain holds them all, as on a divided socket, the domains within them;
        none if these are all domains of the host.
        """
        wanted = frozenset(threads)
        if not wanted:
            return []
        known = [
            (frozenset(domain.threads), domain.os_index)
            for domain in self.topology.numa
            if domain.threads
        ]
        around = [(held, index) for held, index in known if wanted <= held]
        smallest = min((len(held) for held, _ in around), default=0)
        nearest = [(held, index) for held, index in around if len(held) == smallest]
        within = [(held, index) for held, index in known if held <= wanted]
        if not nearest and len(within) < len(known):
            nearest = within
        return [self.component("numa", str(index)) for _, index in nearest]

    def _held(self, name: str, entry: Container) -> Held:
        threads = frozenset(entry.threads)
        return threads, self.container(name, entry) if threads else URIRef("")


def span(threads: Collection[int]) -> str:
    """``threads 0-3,8``: a list of CPUs as the kernel writes it."""
    runs: list[list[int]] = []
    for index in sorted(threads):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    text = ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
    return f"thread{'s' if len(threads) > 1 else ''} {text}"
