"""``/ontology``: the ontology whole, or one module, as JSON-LD, Turtle or HTML.

``https://w3id.org/supertwin/ns`` and all below it redirect here; docs/ontology.md has
the rules.
"""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import RedirectResponse
from rdflib import Graph

from api import formats
from api.services import Use
from api.sparql import response
from api.twin import accepted
from api.vocabulary.page import ontology_page
from api.web import pages
from core.errors import NotFoundError
from ontology.published import json_ld, module_files, module_graph, whole_ontology
from ontology.terms import VERSION

router = APIRouter(prefix="/ontology", tags=["Ontology"])

_OPTIONS: dict[str, Any] = {
    "response_class": Response,
    "responses": {
        200: {
            "description": "The ontology",
            "content": {media_type: {} for media_type in formats.NODES},
        },
        406: {"description": "None of the media types accepted can be served"},
    },
}


@router.get("", summary="The ontology", **_OPTIONS)
async def whole(request: Request, services: Use) -> Response:
    """All classes and properties; as HTML a page with every term as an anchor."""
    media_type = accepted(request)
    if media_type == formats.HTML:
        base = services.settings.base
        return await to_thread.run_sync(ontology_page, request, base)
    return await to_thread.run_sync(_written, whole_ontology(), media_type)


@router.get("/{name}", summary="A module of the ontology", **_OPTIONS)
async def module(
    request: Request,
    services: Use,
    name: Annotated[str, Path(description="A module, an alignment, or the version")],
) -> Response:
    """One module or alignment; a browser is led to where the page has it."""
    media_type = accepted(request)
    graph = whole_ontology() if name == VERSION else module_graph(name)
    if graph is None:
        raise _unknown(name)
    if media_type == formats.HTML:
        root = pages.links(request, services.settings.base).root
        anchor = "" if name == VERSION else f"#module-{name}"
        return RedirectResponse(f"{root}/ontology{anchor}", 303, {"Vary": "Accept"})
    return await to_thread.run_sync(_written, graph, media_type)


@router.get("/{version}/{name}", summary="A module in a version", **_OPTIONS)
async def versioned(
    request: Request, services: Use, version: str, name: str
) -> Response:
    """What an owl:versionIRI names; only the version that runs is served."""
    if version != VERSION:
        detail = f"this is version {VERSION} of the ontology, not {version[:40]!r}"
        raise NotFoundError("no-such-version", "No such version", detail)
    return await module(request, services, name)


def _written(graph: Graph, media_type: str) -> Response:
    if media_type == formats.TURTLE:
        return response(graph.serialize(format="turtle"), media_type)
    if media_type == formats.N_TRIPLES:
        return response(graph.serialize(format="nt"), media_type)
    if media_type == formats.RDF_XML:
        return response(graph.serialize(format="xml"), media_type)
    return response(json_ld(graph), media_type)


def _unknown(name: str) -> NotFoundError:
    known = ", ".join(module_files())
    detail = f"the ontology has no module {name[:80]!r}; there are: {known}"
    return NotFoundError("no-such-module", "No such module", detail)
