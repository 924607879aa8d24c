"""Write a twin as a DTDL document: one Interface after the other.

A document is a list of Interfaces, the host's first. An Interface with more contents
than its version allows continues in pages, to which it has Relationships.
"""

import hashlib
from collections.abc import Iterable, Iterator

import orjson
from rdflib import RDF, URIRef

from dtdl.commands import commands
from dtdl.contents import Contents
from dtdl.errors import NotExportableError
from dtdl.names import MAX_INTERFACE_ID, Names, page_dtmi, to_dtmi
from dtdl.nodes import Nodes, Object, Triple
from dtdl.terms import compact
from dtdl.values import to_json
from dtdl.versions import VERSIONS, Element, Version
from dtdl.write import element
from ontology.terms import ST

CATALOGUE, PAGE = "Catalogue", "Page"
# Parts that contain no Component themselves, as DTDL demands of a Component.
_COMPONENTS = frozenset(
    {ST.MemoryBank, ST.Disk, ST.NetworkInterface, ST.Gpu, ST.Pmu, ST.Pmda}
)


def export(
    triples: Iterable[Triple], host: URIRef, base: str, version: int
) -> Iterator[Element]:
    """Yield the Interfaces of a host's twin; ``version`` is 2, 3 or 4.

    Raises NotExportableError if the host is not among the triples.
    """
    base = base.rstrip("/")
    nodes = Nodes(triples, host, base)
    if ST.ComputeNode not in nodes.classes(host):
        raise NotExportableError(
            f"{host} is not a host: `supertwin query inventory/hosts` lists the hosts"
        )
    return _Export(nodes, VERSIONS[version]).interfaces()


def document(interfaces: Iterable[Element]) -> Iterator[bytes]:
    """Yield the document as bytes, one Interface per line."""
    opening = b"["
    for interface in interfaces:
        yield opening + b"\n" + orjson.dumps(interface)
        opening = b","
    yield b"\n]\n"


def fingerprint(triples: Iterable[Triple], base: str) -> str:
    """SHA-256 (hex) of an export's facts, independent of where it is loaded.

    It excludes the digest of a host, which covers IRIs including the base.
    """
    known = _Written(base.rstrip("/"))
    lines = {
        b"%b %b %b" % (known[s], known[p], known[o])
        for s, p, o in triples
        if p != ST.digest
    }
    return hashlib.sha256(b"\n".join(sorted(lines))).hexdigest()


class _Written(dict[Object, bytes]):
    """Terms as JSON, each converted once."""

    def __init__(self, base: str) -> None:
        self._base = base

    def __missing__(self, term: Object) -> bytes:
        self[term] = written = orjson.dumps(to_json(term, self._base))
        return written


class _Export:
    def __init__(self, nodes: Nodes, version: Version) -> None:
        self._nodes, self._version = nodes, version
        self._contents = Contents(nodes, version)

    def interfaces(self) -> Iterator[Element]:
        for node in self._nodes.interfaces():
            yield from self._paged(*self._interface(node))

    def _interface(self, node: URIRef) -> tuple[Element, list[Element]]:
        """An Interface without its contents, and the contents."""
        taken = Names(self._version.name)
        heading, ours = self._contents.heading(node)
        co_type, types = self._contents.types(node)
        dtmi, iri = self._contents.identity(node, MAX_INTERFACE_ID)
        if node == self._nodes.catalogue:
            co_type, heading = CATALOGUE, {"displayName": "metrics without instances"}
        contents = [*self._contents.of(node, taken)]
        if node == self._nodes.host:
            ours["fingerprint"] = self._fingerprint()
            contents = [*self._of_host(taken), *contents]
        dtdl = {"@context": self._version.context, "@id": dtmi, **heading}
        own_fields = types | iri | ours
        made = element(["Interface"], co_type, dtdl, own_fields, self._version)
        return {"@context": made.pop("@context"), **made}, contents

    def _fingerprint(self) -> str:
        facts = self._nodes.facts
        triples = (
            (s, p, o) for s, known in facts.items() for p in known for o in known[p]
        )
        return fingerprint(triples, self._nodes.base)

    def _of_host(self, taken: Names) -> Iterator[Element]:
        """Commands, catalogues and Components, which only a host has."""
        for command in commands():
            yield {**command, "name": taken.give(command["name"])}
        for number, catalogue in enumerate(self._catalogues()):
            dtdl = {
                "name": taken.give(f"catalogue_{number}"),
                "target": to_dtmi(catalogue, self._nodes.base),
            }
            yield element(["Relationship"], CATALOGUE, dtdl, {}, self._version)
        for node in self._nodes.interfaces():
            if self._is_component(node):
                kind, id_ = compact(node, self._nodes.base).split("/")[-2:]
                yield {
                    "@type": "Component",
                    "name": taken.give(f"{kind} {id_}"),
                    "schema": to_dtmi(node, self._nodes.base),
                }

    def _catalogues(self) -> list[URIRef]:
        """Interfaces with metrics as contents."""
        return [
            node
            for node in self._nodes.interfaces()
            if any(ST.Metric in self._nodes.classes(c) for c in self._held(node))
        ]

    def _held(self, node: URIRef) -> list[URIRef]:
        return self._nodes.contents(node)[:1]

    def _is_component(self, node: URIRef) -> bool:
        facts = self._nodes.facts.get(node, {})
        is_part = self._nodes.host in facts.get(ST.isPartOf, ())
        return is_part and not _COMPONENTS.isdisjoint(facts.get(RDF.type, ()))

    def _paged(self, interface: Element, contents: list[Element]) -> Iterator[Element]:
        """The Interface, and further pages for contents beyond its version's limit."""
        limit = self._version.contents
        if len(contents) <= limit:
            yield {**interface, "contents": contents}
            return
        count = -(-(len(contents) - limit) // (limit - 1))
        first, rest = contents[: limit - count], contents[limit - count :]
        pages = [rest[at : at + limit] for at in range(0, len(rest), limit)]
        ids = [page_dtmi(interface["@id"], n) for n in range(len(pages))]
        # No other name begins like this; these come last.
        links = [
            {"@type": "Relationship", "name": f"continues_{n}", "target": id_}
            for n, id_ in enumerate(ids)
        ]
        yield {**interface, "contents": [*first, *links]}
        for id_, page in zip(ids, pages, strict=True):
            dtdl = {"@context": self._version.context, "@id": id_, "contents": page}
            ours = {"continues": interface["@id"]}
            yield element(["Interface"], PAGE, dtdl, ours, self._version)
