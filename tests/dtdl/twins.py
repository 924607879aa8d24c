"""The twins to export: made-up ones, real machines, and a large one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rdflib import RDF, RDFS, Graph, Literal, URIRef

from dtdl.export import document, export
from dtdl.nodes import Triple
from ingest.description import describe
from ingest.machine_files import hwloc_file, original_file
from ingest.schema.schema import ProbeDocument
from ontology.iris import Iris
from ontology.terms import ST
from tests.dashboards.synthetic_facts import big_document, topology
from tests.ingest.documents import describe_json

BASE = "http://localhost:8000"
IRIS = Iris(BASE)
MACHINES = Path(__file__).parents[3] / "shared/machines/hwloc"
ORIGINALS = MACHINES.with_name("supertwin")
EVERYTHING = Path(__file__).with_name("everything.ttl")
ODD_HOST = "h1_odd.host"
VERSIONS = (2, 3, 4)


@dataclass(frozen=True)
class Twin:
    """A host and all its triples."""

    host: str
    triples: Sequence[Triple]

    @property
    def node(self) -> URIRef:
        return IRIS.host(self.host)

    def document(self, version: int) -> bytes:
        return b"".join(document(export(self.triples, self.node, BASE, version)))


@cache
def everything() -> Twin:
    """A host with one of every class in table 4.2 of the thesis."""
    graph = Graph().parse(EVERYTHING)
    return Twin(ODD_HOST, list(graph))  # type: ignore[arg-type]


@cache
def large(threads: str = "pack:2 numa:4 l3:2 l2:12 l1d:1 core:1 pu:2") -> Twin:
    """A host of 384 threads with the whole monitor plan: some 40,000 triples."""
    document = big_document("large", topology(threads))
    found = describe_json(document, IRIS, _monitored(document))
    return Twin("large", [triple for part in found.graphs for triple in part])


def texts() -> Twin:
    """A host whose texts contain every sort of character that the graph may hold."""
    signs = [9, 10, 13, *range(32, 127), 0x85, 0x2028, 0xFFFD, 0x1F600]
    text = "".join(map(chr, signs))
    node, disk = IRIS.host("n1"), IRIS.component("n1", "disk", "d")
    return Twin(
        "n1",
        [
            (node, RDF.type, ST.ComputeNode),
            (node, ST.hostname, Literal("n1")),
            (node, RDFS.label, Literal(text)),
            (node, RDFS.comment, Literal(text * 9)),
            (disk, RDF.type, ST.Disk),
            (disk, ST.model, Literal(text)),
            (disk, ST.model, Literal(f"{text} 2")),
            (disk, ST.isPartOf, node),
        ],
    )


def machines(pattern: str = "*") -> Iterator[tuple[str, Twin]]:
    """The real machines, if their files exist: hwloc's, then the original's."""
    for path in sorted(MACHINES.glob(f"{pattern}.xml")):
        host = path.stem.replace("+", "-")
        yield path.stem, _twin(hwloc_file(path, host))
    for path in sorted(ORIGINALS.glob(f"{pattern}.json")):
        yield path.stem, _twin(original_file(path))


def _twin(document: ProbeDocument) -> Twin:
    found = describe(document, IRIS)
    return Twin(found.host, [triple for part in found.graphs for triple in part])


def _monitored(document: dict[str, Any]) -> list[str]:
    return [metric["name"] for metric in document["facts"]["pcp"]["metrics"]]
