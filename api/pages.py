"""Plain HTML: everything is escaped, and what lies under the base links by path."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rdflib import Graph, Literal, URIRef
from rdflib.namespace import RDF, RDFS
from rdflib.term import Node as Term

from api import formats
from api.nodes import Node
from ontology.terms import PREFIXES

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_HEADERS = {
    "Content-Type": formats.content_type(formats.HTML),
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Vary": "Accept",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_FIRST = (RDF.type, RDFS.label, RDFS.comment)


@dataclass(frozen=True)
class Shown:
    """One term as text, with a link where it has one."""

    text: str
    href: str = ""
    title: str = ""


@dataclass(frozen=True)
class Links:
    """Turns IRIs into links that work at the address the browser used."""

    base: str
    root: str

    def href(self, iri: str) -> str:
        """A path for IRIs under the base, other web addresses as they are, or ''."""
        base = self.base.rstrip("/") + "/"
        if iri.startswith(base):
            return f"{self.root}/{iri.removeprefix(base).lstrip('/')}"
        return iri if iri.startswith(("http://", "https://")) else ""

    def shown(self, term: Term, graph: Graph) -> Shown:
        """A term by its label, its short name or its text."""
        if not isinstance(term, URIRef):
            return Shown(str(term), title=_kind(term))
        label = next((str(found) for found in graph.objects(term, RDFS.label)), "")
        return Shown(label or self.short(term), self.href(term), str(term))

    def short(self, iri: str) -> str:
        """``st:Core`` for known namespaces, a path under the base, else the IRI."""
        base = self.base.rstrip("/") + "/"
        if iri.startswith(base):
            return iri.removeprefix(base)
        for prefix, namespace in PREFIXES.items():
            if iri.startswith(namespace):
                return f"{prefix}:{iri.removeprefix(namespace)}"
        return iri


def links(request: Request, base: str) -> Links:
    """Links for the address that this request came to."""
    return Links(base, request.scope.get("root_path", "").rstrip("/"))


def page(template: str, request: Request, base: str, **values: Any) -> Response:
    """A template of ``templates/`` as an HTML response."""
    made = links(request, base)
    text = _TEMPLATES.get_template(template).render(
        links=made, root=made.root, **values
    )
    return Response(text, headers=_HEADERS)


def node_page(request: Request, base: str, node: Node) -> Response:
    """Everything said about a node, and what points at it."""
    made = links(request, base)
    outgoing = _grouped(node.graph.predicate_objects(node.iri), made, node.graph)
    pointing = (
        (link, subject)
        for subject, link in node.graph.subject_predicates(node.iri)
        if subject != node.iri
    )
    return page(
        "node.html",
        request,
        base,
        iri=node.iri,
        title=made.shown(node.iri, node.graph).text,
        outgoing=outgoing,
        incoming=_grouped(pointing, made, node.graph),
        beside=_beside(node, made),
        cut=node.cut,
    )


def _beside(
    node: Node, links: Links
) -> list[tuple[Shown, list[tuple[Shown, list[Shown]]]]]:
    """What the graph says of the neighbours, apart from their labels."""
    said: dict[Term, list[tuple[Term, Term]]] = defaultdict(list)
    for subject, link, value in node.graph:
        if node.iri not in (subject, value) and link != RDFS.label:
            said[subject].append((link, value))
    return [
        (links.shown(subject, node.graph), _grouped(said[subject], links, node.graph))
        for subject in sorted(said, key=str)
    ]


def _grouped(
    pairs: Iterable[tuple[Term, Term]], links: Links, graph: Graph
) -> list[tuple[Shown, list[Shown]]]:
    """Values by property: type, label and comment first, the rest by name."""
    by_property: dict[Term, list[Term]] = defaultdict(list)
    for link, value in pairs:
        by_property[link].append(value)
    ordered = sorted(by_property, key=lambda link: (link not in _FIRST, str(link)))
    return [
        (
            Shown(links.short(str(link)), title=str(link)),
            sorted(
                (links.shown(value, graph) for value in by_property[link]),
                key=lambda shown: natural(shown.text),
            ),
        )
        for link in ordered
    ]


def natural(text: str) -> list[tuple[bool, int, str]]:
    """A sort key that puts ``thread 9`` before ``thread 10``."""
    parts, run = [], ""
    for character in text + "\0":
        if run and run[-1].isdecimal() != character.isdecimal():
            parts.append(run)
            run = ""
        run += character
    return [(not p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in parts]


def _kind(term: Term) -> str:
    if isinstance(term, Literal):
        return f"@{term.language}" if term.language else str(term.datatype or "")
    return "blank node"
