"""Read a lossless document, written by `export` in version 2, as triples.

The document is checked first (`schema`). The result is the exported graph, with IRIs
below the base of the installation that reads it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdflib import RDF, RDFS, Literal, URIRef

from dtdl.errors import FIX, DtdlDocumentError
from dtdl.export import CATALOGUE, PAGE, fingerprint
from dtdl.names import from_dtmi
from dtdl.nodes import HOMES, Object, Triple
from dtdl.schema import co_type, host_of, interfaces_of, own_dtmi, owner
from dtdl.terms import (
    WHOLE_COMMENT,
    WHOLE_LABEL,
    class_of,
    expand,
    properties,
    property_of,
)
from dtdl.values import all_from_json
from dtdl.versions import Element
from ontology.iris import IdError, Iris
from ontology.terms import ST

_PLACED = frozenset({CATALOGUE, PAGE})
# Members that DTDL itself defines, or that are not facts.
_NO_FACTS = frozenset(
    {"@context", "@id", "@type", "name", "schema", "unit", "target", "properties"}
    | {"displayName", "description", "contents", "types", "iri", "exposed", "more"}
    | {"fingerprint", "continues"}
)


@dataclass(frozen=True)
class DtdlDocument:
    """A document's facts about one host; ``whole`` if unchanged since its export."""

    host: str
    triples: list[Triple]
    whole: bool


def read(text: bytes, base: str, host: str | None = None) -> DtdlDocument:
    """Read the triples of a document; ``host`` renames the host in it.

    Raises DtdlDocumentError if it is not a lossless export of one host.
    """
    base = base.rstrip("/")
    interfaces = interfaces_of(text)
    node = host_of(interfaces, base)
    found = list(_Reader(interfaces, node, base).triples())
    recorded_digest = next(
        i.get("fingerprint") for i in interfaces if _iri(i, base) == node
    )
    whole = recorded_digest == fingerprint(found, base)
    name = _hostname(found, node, base)
    if host and host != name:
        found = _renamed(found, node, name, host, base)
    return DtdlDocument(host or name, found, whole)


class _Reader:
    def __init__(self, interfaces: list[Element], host: URIRef, base: str) -> None:
        self._interfaces, self._host, self._base = interfaces, host, base
        # A Relationship points to an Interface by its DTMI, which may not contain the
        # IRI.
        self._iris: Mapping[str, URIRef] = {
            i["@id"]: _iri(i, base) for i in interfaces if co_type(i) != PAGE
        }

    def triples(self) -> Iterator[Triple]:
        for interface in self._interfaces:
            node = self._iris.get(owner(interface))
            if node is None:
                raise DtdlDocumentError(
                    f"{interface['@id']} continues {owner(interface)[:150]!r}, which "
                    f"is not in the file: {FIX}"
                )
            if co_type(interface) not in _PLACED:
                yield from self._header(interface, node)
            for content in interface.get("contents", []):
                yield from self._content(content, node)

    def _header(self, element: Element, node: URIRef) -> Iterator[Triple]:
        """Classes, label and comment of a node."""
        if (kind := co_type(element)) != "Node":
            yield node, RDF.type, class_of(kind)
        for name in _texts(element, "types"):
            yield node, RDF.type, expand(name, self._base)
        for property_, dtdl, whole in (
            (RDFS.label, "displayName", WHOLE_LABEL),
            (RDFS.comment, "description", WHOLE_COMMENT),
        ):
            if (values := element.get(whole, element.get(dtdl))) is not None:
                yield from self._facts(node, property_, values)

    def _content(self, content: Element, node: URIRef) -> Iterator[Triple]:
        kinds = content["@type"] if isinstance(content["@type"], list) else []
        if "@id" in content:
            yield from self._node(content, node)
        elif "Relationship" in [content["@type"], *kinds]:
            if co_type(content) != CATALOGUE and not _continues(content):
                yield node, self._property(content), self._target(content)
        elif "Property" in kinds:
            schema = content.get("schema")
            schema = schema if isinstance(schema, str) else ""
            property_ = self._property(content)
            yield from self._facts(node, property_, content.get("value"), schema)

    def _node(self, content: Element, home: URIRef) -> Iterator[Triple]:
        """A node that is a content: one fact from its place, others from members."""
        node, class_ = _iri(content, self._base), class_of(co_type(content))
        if class_ not in HOMES:
            raise DtdlDocumentError(
                f"{content['@id']}: {co_type(content)} cannot be a content: {FIX}"
            )
        yield from self._header(content, node)
        if home != URIRef(f"{self._base}/metric"):
            yield node, HOMES[class_], home
        if class_ == ST.Metric and content.get("exposed", True):
            yield self._host, ST.exposes, node
        for name, values in content.items():
            if name not in _NO_FACTS and name not in (WHOLE_LABEL, WHOLE_COMMENT):
                if name not in properties():
                    raise DtdlDocumentError(
                        f"{content['@id']}: {name[:60]!r} is not a member: {FIX}"
                    )
                yield from self._facts(node, properties()[name], values)
        more = content.get("more", {})
        for name, values in more.items() if isinstance(more, dict) else ():
            yield from self._facts(node, expand(name, self._base), values)

    def _facts(
        self, node: URIRef, property_: URIRef, values: object, schema: str = ""
    ) -> Iterator[Triple]:
        for value in all_from_json(values, self._base, schema):
            yield node, property_, value

    def _property(self, content: Element) -> URIRef:
        """The property of a content."""
        predicate = content.get("predicate")
        if isinstance(predicate, str):
            return expand(predicate, self._base)
        known = property_of(content["name"])
        if known is None:
            raise DtdlDocumentError(
                f"{content['name'][:60]!r} is not a SuperTwin property: {FIX}"
            )
        return known

    def _target(self, content: Element) -> URIRef:
        target = content.get("target")
        if not isinstance(target, str) or target not in self._iris:
            raise DtdlDocumentError(
                f"{content['name']} refers to {str(target)[:150]!r}, which is not in "
                f"the file: {FIX}"
            )
        return self._iris[target]


def _iri(element: Element, base: str) -> URIRef:
    """The IRI of an Interface, or of a content that is a node."""
    known = from_dtmi(element["@id"], base)
    return known if known is not None else own_dtmi(element, base)


def _texts(element: Element, name: str) -> list[str]:
    found = element.get(name, [])
    return [t for t in found if isinstance(t, str)] if isinstance(found, list) else []


def _continues(content: Element) -> bool:
    return str(content["name"]).startswith("continues_")


def _hostname(triples: list[Triple], node: URIRef, base: str) -> str:
    names = [str(o) for s, p, o in triples if s == node and p == ST.hostname]
    try:
        if len(names) == 1 and Iris(base).host(names[0]) == node:
            return names[0]
    except IdError:
        pass
    raise DtdlDocumentError(
        f"{node} has the hostnames {names[:3]}, expected its own: {FIX}"
    )


def _renamed(
    triples: list[Triple], node: URIRef, old: str, new: str, base: str
) -> list[Triple]:
    """The triples of a host under another name."""
    host = Iris(base).host(new)
    plain = {ST.hostname, RDFS.label}

    def moved(term: Object) -> Object:
        if isinstance(term, URIRef) and (term == node or term.startswith(f"{node}/")):
            return URIRef(f"{host}{term.removeprefix(node)}")
        return term

    return [
        (
            URIRef(moved(s)),
            p,
            Literal(new)
            if s == node and p in plain and o == Literal(old)
            else moved(o),
        )
        for s, p, o in triples
        # The digest covers the IRIs, which have changed.
        if p != ST.digest
    ]
