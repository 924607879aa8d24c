"""The page of the ontology, on the API and as a file that needs no server."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fastapi import Request, Response
from markupsafe import Markup

from api.vocabulary.usage import queries_by_term, shapes_by_term
from api.web import pages
from api.web.tags import is_known, tag_of
from ontology.described import KINDS, Module, Piece, alignments, modules
from ontology.terms import ONTOLOGY, ST, VERSION

_STYLES = ("theme.css", "ontology/ontology.css")
_MANY = {"class": "classes", "object property": "object properties"} | {
    "data property": "data properties"
}


@dataclass(frozen=True)
class Addresses:
    """Where the links of the page lead: within the API, or among files.

    A saved query has none among files: only an API answers it.
    """

    modules: str
    ending: str
    queries: str

    def term(self, piece: Piece) -> str:
        """The address of a term: on this page where it is ours, else its own."""
        if piece.name:
            return f"#{piece.name}"
        return piece.iri if piece.iri.startswith(("http://", "https://")) else ""

    def module(self, name: str) -> str:
        """The address of a module's own document."""
        return f"{self.modules}{name}{self.ending}"

    def query(self, name: str) -> str:
        """The address of a saved query; empty where none answers."""
        return self.queries and f"{self.queries}{name}"


def ontology_page(request: Request, base: str) -> Response:
    """Every term, with what checks it and what asks for it; 304 if it is known."""
    terms = _terms(pages.links(request, base).root)
    made = pages.page("ontology.html", request, base, title="Ontology", terms=terms)
    made.headers["ETag"] = tag = tag_of(bytes(made.body))
    if not is_known(request, tag):
        return made
    del made.headers["Content-Length"]
    return Response(status_code=304, headers=made.headers)


@lru_cache(maxsize=4)
def _terms(root: str) -> Markup:
    """All but the frame of the page, which is the same for everybody."""
    at = Addresses(f"{root}/ontology/", "?format=turtle", f"{root}/queries/")
    return Markup(pages.render("ontology_terms.html", **_shown(at)))  # noqa: S704


def page_file() -> str:
    """The same page as one file, with its styles within."""
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
    """``42 classes``: how many terms there are of each kind."""
    counted = Counter(term.kind for module in found for term in module.terms)
    return [
        f"{counted[kind]} {kind if counted[kind] == 1 else _MANY.get(kind, kind + 's')}"
        for kind in KINDS.values()
        if counted[kind]
    ]
