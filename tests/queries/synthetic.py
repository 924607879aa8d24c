"""Writes the graphs of made-up hosts of any size, in terms of the vocabulary."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from rdflib import RDF, RDFS, Dataset, Graph, Literal, URIRef

from ontology.iris import Iris
from ontology.terms import PROV, ST

IRIS = Iris("http://localhost:8000")
PROBE_TIME = "20261121T000000Z"
MIB = 1024 * 1024


@dataclass(frozen=True)
class Shape:
    """A regular machine: threads are numbered core by core, then by sibling."""

    host: str
    sockets: int = 2
    domains_per_socket: int = 1
    cores_per_socket: int = 2
    siblings: int = 2
    cores_per_l2: int = 1
    cores_per_l3: int = 2
    kernel: str = "6.1.0"
    bios: str = "1.0"
    microcode: str = "0x1"
    model: str = "Model A"
    disallowed: tuple[int, ...] = ()
    dies: bool = False

    @property
    def cores(self) -> int:
        return self.sockets * self.cores_per_socket

    @property
    def threads(self) -> int:
        return self.cores * self.siblings

    def threads_of(self, cores: range) -> list[int]:
        """The threads of some cores; siblings are numbered one machine apart."""
        return [s * self.cores + c for s in range(self.siblings) for c in cores]


def add_host(data: Dataset, shape: Shape) -> None:
    """The graph of one host: identity, probe, topology, devices."""
    graph = data.graph(IRIS.twin_graph(shape.host))
    _add_identity(graph, shape)
    _add_probe(graph, shape.host)
    _add_sockets(graph, shape)
    _add_caches(graph, shape)
    _add_domains(graph, shape)
    _add_devices(graph, shape.host)


def add(graph: Graph, node: URIRef, *pairs: tuple[URIRef, URIRef | Literal]) -> None:
    """Several properties of one node."""
    for predicate, value in pairs:
        graph.add((node, predicate, value))


def _add_identity(graph: Graph, shape: Shape) -> None:
    probe = IRIS.component(shape.host, "probe", PROBE_TIME)
    add(
        graph,
        IRIS.host(shape.host),
        (RDF.type, ST.ComputeNode),
        (RDFS.label, Literal(shape.host)),
        (ST.hostname, Literal(shape.host)),
        (ST.osName, Literal("Debian GNU/Linux 12 (bookworm)")),
        (ST.kernelRelease, Literal(shape.kernel)),
        (ST.architecture, Literal("x86_64")),
        (ST.systemModel, Literal(shape.model)),
        (ST.biosVersion, Literal(shape.bios)),
        (ST.cpuModel, Literal("CPU of " + shape.model)),
        (ST.memorySize, Literal(24 * 1024 * MIB)),
        (ST.resolvesAtFetch, IRIS.instance_domain("3.9")),
        (PROV.wasGeneratedBy, probe),
    )


def _add_probe(graph: Graph, host: str) -> None:
    probe = IRIS.component(host, "probe", PROBE_TIME)
    add(graph, probe, (RDF.type, ST.Probe), (RDF.type, PROV.Activity))
    for name, reason in (("hwloc", None), ("lshw", "lshw is not installed")):
        source = IRIS.component(host, "source", f"{PROBE_TIME}.{name}")
        add(
            graph,
            source,
            (RDF.type, ST.ProbeSource),
            (ST.sourceName, Literal(name)),
            (ST.succeeded, Literal(reason is None)),
            (ST.seconds, Literal(Decimal("0.05"))),
        )
        if reason:
            graph.add((source, ST.reason, Literal(reason)))
        graph.add((probe, ST.consulted, source))


def _add_sockets(graph: Graph, shape: Shape) -> None:
    for number, cores in enumerate(_split(shape.cores, shape.cores_per_socket)):
        socket = IRIS.component(shape.host, "socket", f"socket-{cores[0]}")
        add(
            graph,
            socket,
            (RDF.type, ST.Socket),
            (RDFS.label, Literal(f"socket {number}")),
            (ST.osIndex, Literal(number)),
            (ST.isPartOf, IRIS.host(shape.host)),
            (ST.cpuModel, Literal("CPU of " + shape.model)),
            (ST.cpuVendor, Literal("GenuineIntel")),
            (ST.microcode, Literal(shape.microcode)),
        )
        parent = _add_die(graph, shape.host, cores[0], socket) if shape.dies else socket
        for core in cores:
            _add_core(graph, shape, core, parent)


def _add_die(graph: Graph, host: str, lowest: int, socket: URIRef) -> URIRef:
    die = IRIS.component(host, "die", f"die-{lowest}")
    add(graph, die, (RDF.type, ST.Die), (ST.osIndex, Literal(0)))
    graph.add((die, ST.isPartOf, socket))
    return die


def _add_core(graph: Graph, shape: Shape, core: int, parent: URIRef) -> None:
    node = IRIS.component(shape.host, "core", f"core-{core}")
    add(
        graph,
        node,
        (RDF.type, ST.Core),
        (ST.osIndex, Literal(core % shape.cores_per_socket)),
        (ST.isPartOf, parent),
        (ST.baseFrequency, Literal(2_000_000_000)),
        (ST.maxFrequency, Literal(3_500_000_000)),
    )
    for cpu in shape.threads_of(range(core, core + 1)):
        add(
            graph,
            IRIS.component(shape.host, "thread", str(cpu)),
            (RDF.type, ST.HardwareThread),
            (RDFS.label, Literal(f"thread {cpu}")),
            (ST.osIndex, Literal(cpu)),
            (ST.allowed, Literal(cpu not in shape.disallowed)),
            (ST.isPartOf, node),
        )


def _add_caches(graph: Graph, shape: Shape) -> None:
    levels = (
        ("l1d", 1, "DataCache", 32 * 1024, 1),
        ("l1i", 1, "InstructionCache", 32 * 1024, 1),
        ("l2", 2, "UnifiedCache", 2 * MIB, shape.cores_per_l2),
        ("l3", 3, "UnifiedCache", 32 * MIB, shape.cores_per_l3),
    )
    for stem, level, type_, size, width in levels:
        for cores in _split(shape.cores, width):
            cache = IRIS.component(shape.host, "cache", f"{stem}-{cores[0]}")
            add(
                graph,
                cache,
                (RDF.type, ST.Cache),
                (ST.cacheLevel, Literal(level)),
                (ST.cacheType, ST[type_]),
                (ST.cacheSize, Literal(size)),
                (ST.lineSize, Literal(64)),
                (ST.isPartOf, IRIS.host(shape.host)),
            )
            for cpu in shape.threads_of(cores):
                thread = IRIS.component(shape.host, "thread", str(cpu))
                graph.add((thread, ST.usesCache, cache))


def _add_domains(graph: Graph, shape: Shape) -> None:
    width = shape.cores_per_socket // shape.domains_per_socket
    count = shape.sockets * shape.domains_per_socket
    for number, cores in enumerate(_split(shape.cores, width)):
        domain = IRIS.component(shape.host, "numa", str(number))
        socket = cores[0] // shape.cores_per_socket * shape.cores_per_socket
        add(
            graph,
            domain,
            (RDF.type, ST.NumaDomain),
            (ST.osIndex, Literal(number)),
            (ST.memorySize, Literal(12 * 1024 * MIB)),
            (ST.isPartOf, IRIS.component(shape.host, "socket", f"socket-{socket}")),
        )
        for cpu in shape.threads_of(cores):
            thread = IRIS.component(shape.host, "thread", str(cpu))
            graph.add((thread, ST.inNumaDomain, domain))
        for other in range(count):
            _add_distance(graph, shape.host, number, other)


def _add_distance(graph: Graph, host: str, start: int, end: int) -> None:
    add(
        graph,
        IRIS.component(host, "distance", f"{start}-{end}"),
        (RDF.type, ST.NumaDistance),
        (ST.fromDomain, IRIS.component(host, "numa", str(start))),
        (ST.toDomain, IRIS.component(host, "numa", str(end))),
        (ST.distance, Literal(10 if start == end else 21)),
    )


def _add_devices(graph: Graph, host: str) -> None:
    devices: list[tuple[str, str, list[tuple[URIRef, Literal]]]] = [
        (
            "memory",
            "DIMM_A1",
            [
                (RDF.type, ST.MemoryBank),
                (ST.slot, Literal("DIMM_A1")),
                (ST.memorySize, Literal(24 * 1024 * MIB)),
                (ST.clockRate, Literal(3_200_000_000)),
                (ST.vendor, Literal("Samsung")),
            ],
        ),
        (
            "disk",
            "vda",
            [
                (RDF.type, ST.Disk),
                (ST.deviceName, Literal("vda")),
                (ST.diskSize, Literal(480_000_000_000)),
                (ST.isRotational, Literal(False)),
            ],
        ),
        (
            "nic",
            "eth0",
            [
                (RDF.type, ST.NetworkInterface),
                (ST.deviceName, Literal("eth0")),
                (ST.macAddress, Literal("02:00:00:00:00:01")),
                (ST.linkSpeed, Literal(10_000_000_000)),
                (ST.linkUp, Literal(True)),
                (ST.isVirtual, Literal(False)),
                (ST.driver, Literal("virtio_net")),
                (ST.ipv4Address, Literal("10.0.0.1")),
            ],
        ),
    ]
    for kind, id_, pairs in devices:
        node = IRIS.component(host, kind, id_)
        add(graph, node, *pairs, (ST.isPartOf, IRIS.host(host)))


def _split(count: int, width: int) -> Iterator[range]:
    for start in range(0, count, width):
        yield range(start, min(start + width, count))
