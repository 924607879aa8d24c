"""``/ontology``: the whole ontology, or one module, as JSON-LD, Turtle or HTML.

``https://w3id.org/supertwin/ns`` and all below it redirect here; see docs/ontology.md
for the rules.
"""

from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import RedirectResponse
from rdflib import Graph

from api import formats
from api.access.scoped import scoped
from api.services import Use
from api.sparql import response
from api.threads import computed
from api.twin import FORMAT, accepted
from api.vocabulary.page import ontology_page
from api.web import pages
from core.errors import NotFoundError
from ontology.published import json_ld, module_files, module_graph, whole_ontology
from ontology.terms import VERSION

_FORMS = {formats.TURTLE: "turtle", formats.N_TRIPLES: "nt", formats.RDF_XML: "xml"}

router = APIRouter(prefix="/ontology", tags=["Ontology"])

_OPTIONS: dict[str, Any] = {
    "response_class": Response,
    "responses": {
        200: {
            "description": "The ontology",
            "content": {media_type: {} for media_type in formats.NODES},
        },
        406: {"description": "No acceptable media type"},
    },
    "openapi_extra": {"parameters": [FORMAT]},
}


@router.get("", summary="The ontology", **_OPTIONS)
@scoped
async def whole(request: Request, services: Use) -> Response:
    """All classes and properties; as HTML a page with every term as an anchor."""
    media_type = accepted(request)
    if media_type == formats.HTML:
        base = services.settings.base
        return await computed(ontology_page, request, base)
    return response(await computed(_written, VERSION, media_type), media_type)


@router.get("/{name}", summary="A module of the ontology", **_OPTIONS)
@scoped
async def module(
    request: Request,
    services: Use,
    name: Annotated[str, Path(description="A module, an alignment, or the version")],
) -> Response:
    """One module or alignment; a browser is redirected to its place on the page."""
    media_type = accepted(request)
    if name != VERSION and name not in module_files():
        raise _unknown(name)
    if media_type == formats.HTML:
        root = pages.links(request, services.settings.base).root
        anchor = "" if name == VERSION else f"#module-{name}"
        return RedirectResponse(f"{root}/ontology{anchor}", 303, {"Vary": "Accept"})
    return response(await computed(_written, name, media_type), media_type)


@router.get("/{version}/{name}", summary="A module in a version", **_OPTIONS)
@scoped
async def versioned(
    request: Request, services: Use, version: str, name: str
) -> Response:
    """The document of an owl:versionIRI; only the running version is served."""
    if version != VERSION:
        detail = f"this is version {VERSION} of the ontology, not {version[:40]!r}"
        raise NotFoundError("no-such-version", "No such version", detail)
    return await module(request, services, name)


@cache
def _written(name: str, media_type: str) -> bytes:
    """Return a module, or the whole ontology if ``name`` is its version.

    Each is written once: blank nodes would have other names the next time.
    """
    graph = module_graph(name)
    return _in_form(whole_ontology() if graph is None else graph, media_type)


def _in_form(graph: Graph, media_type: str) -> bytes:
    form = _FORMS.get(media_type)
    return graph.serialize(format=form, encoding="utf-8") if form else json_ld(graph)


def _unknown(name: str) -> NotFoundError:
    known = ", ".join(module_files())
    detail = f"the ontology has no module {name[:80]!r}; there are: {known}"
    return NotFoundError("no-such-module", "No such module", detail)
