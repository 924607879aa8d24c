"""HTML pages: everything is escaped, and IRIs under the base become paths."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from rdflib import Graph, Literal, URIRef
from rdflib.namespace import RDF, RDFS, XSD
from rdflib.term import Node as Term

from api import formats
from api.nodes import Node
from ontology.figures import figures, one_line
from ontology.terms import PREFIXES, ST
from ontology.unit_symbols import unit_symbol
from queries.natural_order import natural

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
STATIC = Path(__file__).parent / "static"
_HEADERS = {
    "Content-Type": formats.content_type(formats.HTML),
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Vary": "Accept",
    "X-Content-Type-Options": "nosniff",
    # Send no referrer to other sites; without it, our own forms would have no origin.
    "Referrer-Policy": "same-origin",
}
_NAVIGATION = (
    ("/", "Hosts"),
    ("/dashboards", "Dashboards"),
    ("/queries/process/named", "Processes"),
    ("/queries", "Queries"),
    ("/pin", "Pin"),
    ("/observations", "Observations"),
    ("/plans", "Plans"),
    ("/editor", "Editor"),
    ("/ontology", "Ontology"),
    ("/api", "API"),
    ("/docs", "Docs"),
)
_CODE = re.compile(r"`([^`\n]+)`")
_FIRST = (RDF.type, RDFS.label, RDFS.comment)


@dataclass(frozen=True)
class RenderedTerm:
    """One term as text, with a link if it has one, and ``time`` if it is a time."""

    text: str
    href: str = ""
    title: str = ""
    time: str = ""


@dataclass(frozen=True)
class Links:
    """Turns IRIs into links that work at the address the browser used."""

    base: str
    root: str

    def href(self, iri: str) -> str:
        """Return a path for an IRI under the base, other web addresses as is, or ''.

        The ontology's own terms link to their definitions on the ontology's page.
        """
        if iri.startswith(str(ST)):
            return f"{self.root}/ontology#{iri.removeprefix(str(ST))}"
        base = self.base.rstrip("/") + "/"
        if iri.startswith(base):
            return f"{self.root}/{iri.removeprefix(base).lstrip('/')}"
        return iri if iri.startswith(("http://", "https://")) else ""

    def shown(self, term: Term, graph: Graph) -> RenderedTerm:
        """Show a term by its label, its short name or its text."""
        if not isinstance(term, URIRef):
            return RenderedTerm(str(term), title=_kind(term), time=_time(term))
        if (symbol := unit_symbol(term)) is not None:
            return RenderedTerm(symbol, title=str(term)) if symbol else RenderedTerm("")
        label = next((str(found) for found in graph.objects(term, RDFS.label)), "")
        return RenderedTerm(label or self.short(term), self.href(term), str(term))

    def short(self, iri: str) -> str:
        """Shorten to ``st:Core`` for known namespaces, or a path below the base."""
        base = self.base.rstrip("/") + "/"
        if iri.startswith(base):
            return iri.removeprefix(base)
        for prefix, namespace in PREFIXES.items():
            if iri.startswith(namespace):
                return f"{prefix}:{iri.removeprefix(namespace)}"
        return iri


def links(request: Request, base: str) -> Links:
    """Return the links for the address of this request."""
    return Links(base, request.scope.get("root_path", "").rstrip("/"))


def page(
    template: str,
    request: Request,
    base: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> Response:
    """Render a template as a response; the standard headers take precedence."""
    made = links(request, base)
    shown = _navigation(request, made.root) | values
    text = render(template, links=made, root=made.root, **shown)
    return Response(text, status, headers={**(headers or {}), **_HEADERS})


def render(template: str, **values: Any) -> str:
    """Render a template of ``templates/`` as text, without a request."""
    return _TEMPLATES.get_template(template).render(**values)


def time_element(text: str) -> Markup:
    """Show a time with a zone as ``2026-11-21 16:38:21 UTC``; other text unchanged.

    The pages' script converts it to the zone that the reader chose.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return escape(text)
    if at.tzinfo is None:
        return escape(text)
    shown = f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}">{}</time>').format(text, shown)


def prose(text: str) -> Markup:
    """Return text as HTML, with the parts in backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704


_TEMPLATES.filters.update(
    figures=figures, one_line=one_line, time=time_element, prose=prose
)


def json_block(value: Any) -> Markup:
    """Return a value (or dataclass) as JSON that is safe within a script element."""
    text = orjson.dumps(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704


def modules(*folders: str) -> list[str]:
    """List the scripts in these folders of static/, so that a page preloads them."""
    return [
        f"{folder}/{path.name}"
        for folder in folders
        for path in sorted((STATIC / folder).glob("*.js"))
    ]


_TEMPLATES.globals.update(json_block=json_block, modules=modules)


def _navigation(request: Request, root: str) -> dict[str, Any]:
    """Return the links at the top of every page, and which of them is current."""
    path = request.url.path.removeprefix(root)
    if path.startswith("/observation/"):
        path = "/observations"
    below = (link for link, _ in _NAVIGATION[1:] if f"{path}/".startswith(f"{link}/"))
    authenticator = request.app.state.services.authenticator
    session = authenticator.sessions.find(request.cookies.get(authenticator.cookie, ""))
    here = next(below, "/")
    return {"navigation": _NAVIGATION, "here": here, "session": session is not None}


def triples(node: Node, links: Links) -> dict[str, Any]:
    """Return all triples of a node, the links to it, and its neighbours."""
    pointing = (
        (link, subject)
        for subject, link in node.graph.subject_predicates(node.iri)
        if subject != node.iri
    )
    statements = node.graph.predicate_objects(node.iri)
    return {
        "outgoing": _grouped(statements, links, node.graph),
        "incoming": _grouped(pointing, links, node.graph),
        "related": _related(node, links),
    }


def _related(
    node: Node, links: Links
) -> list[tuple[RenderedTerm, list[tuple[RenderedTerm, list[RenderedTerm]]]]]:
    """Return what the graph says about the neighbours, except their labels."""
    statements: dict[Term, list[tuple[Term, Term]]] = defaultdict(list)
    for subject, link, value in node.graph:
        if node.iri not in (subject, value) and link != RDFS.label:
            statements[subject].append((link, value))
    return [
        (
            links.shown(subject, node.graph),
            _grouped(statements[subject], links, node.graph),
        )
        for subject in sorted(statements, key=str)
    ]


def _grouped(
    pairs: Iterable[tuple[Term, Term]], links: Links, graph: Graph
) -> list[tuple[RenderedTerm, list[RenderedTerm]]]:
    """Group values by property: type, label and comment first, the rest by name."""
    by_property: dict[Term, list[Term]] = defaultdict(list)
    for link, value in pairs:
        by_property[link].append(value)
    ordered = sorted(by_property, key=lambda link: (link not in _FIRST, str(link)))
    return [
        (
            RenderedTerm(links.short(str(link)), title=str(link)),
            sorted(
                (links.shown(value, graph) for value in by_property[link]),
                key=lambda shown: natural(shown.text),
            ),
        )
        for link in ordered
    ]


def _time(term: Term) -> str:
    is_time = isinstance(term, Literal) and term.datatype == XSD.dateTime
    return str(term) if is_time else ""


def _kind(term: Term) -> str:
    if isinstance(term, Literal):
        return f"@{term.language}" if term.language else str(term.datatype or "")
    return "blank node"
