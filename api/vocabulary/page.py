"""The page of the ontology, served by the API or as a file without a server."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fastapi import Request, Response
from markupsafe import Markup

from api.vocabulary.usage import queries_by_term, shapes_by_term
from api.web import pages
from ontology.described import KINDS, Module, Piece, alignments, modules
from ontology.terms import ONTOLOGY, ST, VERSION

_STYLES = ("theme.css", "ontology/ontology.css")
_MANY = {"class": "classes", "object property": "object properties"} | {
    "data property": "data properties"
}


@dataclass(frozen=True)
class Addresses:
    """The targets of the page's links: within the API, or among files.

    Saved queries have no address among files, because only an API answers them.
    """

    modules: str
    ending: str
    queries: str

    def term(self, piece: Piece) -> str:
        """Return the address of a term: on this page if it is ours, else its IRI."""
        if piece.name:
            return f"#{piece.name}"
        return piece.iri if piece.iri.startswith(("http://", "https://")) else ""

    def module(self, name: str) -> str:
        """Return the address of a module's own document."""
        return f"{self.modules}{name}{self.ending}"

    def query(self, name: str) -> str:
        """Return the address of a saved query; empty among files."""
        return self.queries and f"{self.queries}{name}"


def ontology_page(request: Request, base: str) -> Response:
    """Return every term with its shapes and queries."""
    terms = _terms(pages.links(request, base).root)
    return pages.page("ontology.html", request, base, title="Ontology", terms=terms)


@lru_cache(maxsize=4)
def _terms(root: str) -> Markup:
    """Render everything but the page's frame, which is the same for all clients."""
    at = Addresses(f"{root}/ontology/", "?format=turtle", f"{root}/queries/")
    return Markup(pages.render("ontology_terms.html", **_shown(at)))  # noqa: S704


def page_file() -> str:
    """Return the same page as one file, including its styles."""
    styles = "\n".join((pages.STATIC / name).read_text("utf-8") for name in _STYLES)
    shown = _shown(Addresses("modules/", ".ttl", ""))
    styled = Markup(styles)  # noqa: S704
    return pages.render(
        "ontology_file.html", title="SuperTwin ontology", styles=styled, **shown
    )


def _shown(at: Addresses) -> dict[str, Any]:
    return {
        "at": at,
        "modules": modules(),
        "alignments": alignments(),
        "shapes": shapes_by_term(),
        "queries": queries_by_term(),
        "iri": ONTOLOGY,
        "namespace": str(ST),
        "version": VERSION,
        "counts": _counts(modules()),
    }


def _counts(found: tuple[Module, ...]) -> list[str]:
    """Return the number of terms of each kind, such as ``42 classes``."""
    counted = Counter(term.kind for module in found for term in module.terms)
    return [
        f"{counted[kind]} {kind if counted[kind] == 1 else _MANY.get(kind, kind + 's')}"
        for kind in KINDS.values()
        if counted[kind]
    ]
