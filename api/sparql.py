"""``/sparql``: the SPARQL 1.1 protocol, queries only."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from api import formats
from api.access.clients import client_of
from api.access.scoped import scoped
from api.connection import while_connected
from api.datasets.service import service_description
from api.lexer import read_form
from api.negotiation import negotiate
from api.parameters import any_other
from api.past import past_parameters
from api.rdf import document
from api.services import Services, Use
from api.sparql_request import FORM, GRAPHS, SparqlRequest, read_get, read_post
from api.spooled_response import SpooledResponse
from core.errors import DiskFullError, FileError, api_error
from core.stores.fuseki import GraphStore
from core.stores.sparql_dataset import EXPLAIN, WARNING, Answer
from core.stores.spool import Spool

T = TypeVar("T")
router = APIRouter(tags=["SPARQL"])

_JSON = "application/json"

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A table for SELECT and ASK, triples for CONSTRUCT and DESCRIBE "
        "and for the service description",
        "content": {t: {} for t in (*formats.TABLES, *formats.TRIPLES)},
    },
    400: {"description": "Not one query, bad syntax, an update, SERVICE, a function"},
    404: {"description": "The twins at the time of `asof` are not known"},
    406: {"description": "This form of query has no answer in an accepted media type"},
    413: {"description": "The query, a literal, its memory or answer is too large"},
    415: {"description": "The body is neither a form nor application/sparql-query"},
    503: {"description": "Too many queries at once, or the graph store is unreachable"},
    504: {"description": "The query took longer than SUPERTWIN_QUERY_TIMEOUT"},
}
_QUERY_PARAMETERS: list[dict[str, Any]] = [
    {
        "name": "query",
        "in": "query",
        "description": "A SPARQL 1.1 query; no update, no SERVICE. Without any "
        "parameter, the answer describes the service",
        "schema": {"type": "string"},
        "example": "SELECT * { ?host a <https://w3id.org/supertwin/ns#ComputeNode> }",
    },
    *(
        {
            "name": name,
            "in": "query",
            "description": "Graph to query instead of all of them; may be repeated",
            "schema": {"type": "array", "items": {"type": "string"}},
        }
        for name in GRAPHS
    ),
    {
        "name": "explain",
        "in": "query",
        "description": "`true`: answer the requests that the query sends to the series "
        "store, as JSON, instead of its result",
        "schema": {"type": "string"},
    },
    {
        "name": "asof",
        "in": "query",
        "description": "Run the query on the twins of hosts as they were at this time, "
        "which is also `NOW()`",
        "schema": {"type": "string", "format": "date-time"},
    },
    any_other("Parameters that clients add for other services; ignored"),
]
_BODY = {
    "required": True,
    "content": {
        formats.QUERY: {"schema": {"type": "string"}},
        FORM: {
            "schema": {
                "type": "object",
                "required": ["query"],
                "properties": {"query": {"type": "string"}},
            }
        },
    },
}


@router.get(
    "/sparql",
    summary="Run a SPARQL query",
    responses=_ANSWERS,
    response_class=Response,
    openapi_extra={"parameters": _QUERY_PARAMETERS},
)
@scoped
async def sparql_get(request: Request, services: Use) -> Response:
    """Run the query in the URL; the form of the answer follows `Accept`.

    Without parameters, the answer describes the service, or leads to the editor.
    """
    text = request.scope["query_string"]
    if not text:
        return await _description(request, services)
    return await _answer(request, services, read_get(text))


@router.post(
    "/sparql",
    summary="Run a SPARQL query sent as a form or as it is",
    responses=_ANSWERS,
    response_class=Response,
    openapi_extra={"requestBody": _BODY, "parameters": _QUERY_PARAMETERS[1:]},
)
@scoped
async def sparql_post(request: Request, services: Use) -> Response:
    """Run the query in the body; the form of the answer follows `Accept`."""
    return await _answer(request, services, await read_post(request))


async def _description(request: Request, services: Services) -> Response:
    what = "a request without a query is answered with the service description as RDF"
    accept = request.headers.getlist("accept")
    media_type = negotiate(accept, (*formats.RDF, formats.HTML), what)
    if media_type == formats.HTML:
        root = request.scope.get("root_path", "").rstrip("/")
        return RedirectResponse(f"{root}/editor", 303, {"Vary": "Accept"})
    node = await while_connected(request, service_description(services))
    body = await document(node, services.settings.base, media_type)
    return response(body, media_type, cut=node.cut)


async def run(
    request: Request,
    services: Services,
    sparql_request: SparqlRequest,
    media_type: str,
) -> bytes:
    """Return the complete answer in one media type; cancel it if the client leaves."""
    upstream = formats.upstream_type(media_type)
    return (await answer_of(request, services, sparql_request, upstream)).content


async def answer_of(
    request: Request, services: Services, sparql_request: SparqlRequest, upstream: str
) -> Answer:
    """Return the complete answer in a media type of Fuseki, with its warning."""

    async def answered() -> Answer:
        graphs = await _graphs(services, sparql_request)
        store = _store(services, sparql_request.dataset)
        return await store.answer(sparql_request.query, upstream, graphs)

    return await _in_turn(request, services, answered)


def _store(services: Services, dataset: str) -> GraphStore:
    return services.history if dataset == "history" else services.sparql


async def _in_turn(
    request: Request, services: Services, work: Callable[[], Awaitable[T]]
) -> T:
    """Do some work when it is the client's turn, unless the client leaves."""

    async def answer() -> T:
        async with services.queue.turn(client_of(request)):
            return await work()

    return await while_connected(request, answer())


async def _graphs(
    services: Services, sparql_request: SparqlRequest
) -> tuple[tuple[str, str], ...]:
    """Return the parameters of the query for the graph store."""
    asof = sparql_request.asof
    past = await past_parameters(services, asof) if asof else ()
    return (*sparql_request.graphs, *past)


async def _ask(
    services: Services, sparql_request: SparqlRequest, media_type: str, spool: Spool
) -> Answer:
    graphs = await _graphs(services, sparql_request)
    query, store = sparql_request.query, _store(services, sparql_request.dataset)
    try:
        return await store.spooled(spool, query, media_type, graphs)
    except (DiskFullError, FileError) as error:
        raise api_error(error, 502) from None


async def _answer(
    request: Request, services: Services, sparql_request: SparqlRequest
) -> Response:
    form = read_form(sparql_request.query)
    if sparql_request.explain:
        return await _explanation(request, services, sparql_request)
    media_type = formats.answer_type(form, request.headers.getlist("accept"))
    return await spooled(request, services, sparql_request, media_type)


async def spooled(
    request: Request,
    services: Services,
    sparql_request: SparqlRequest,
    media_type: str,
) -> Response:
    """Return the answer of any size in one media type, once it is complete."""
    upstream = formats.upstream_type(media_type)
    spool = Spool(services.settings.home)
    work = partial(_ask, services, sparql_request, upstream, spool)
    try:
        answer = await _in_turn(request, services, work)
    except BaseException:
        spool.close()
        raise
    found = SpooledResponse(spool, negotiated(media_type))
    if answer.warning:
        found.headers[WARNING] = answer.warning
    return found


async def _explanation(
    request: Request, services: Services, sparql_request: SparqlRequest
) -> Response:
    graphs = (*sparql_request.graphs, EXPLAIN)
    explained = replace(sparql_request, graphs=graphs)
    answer = await answer_of(request, services, explained, _JSON)
    return Response(answer.content, media_type=_JSON)


def response(
    body: bytes | str, media_type: str, *, cut: Sequence[str] = ()
) -> Response:
    """Build a negotiated answer; a header says in words what was cut off."""
    headers = negotiated(media_type)
    if cut:
        headers["SuperTwin-Cut"] = "; ".join(cut)
    return Response(body, headers=headers)


def negotiated(media_type: str) -> dict[str, str]:
    """Return the headers of a negotiated answer."""
    return {
        "Content-Type": formats.content_type(media_type),
        "Vary": "Accept",
        "X-Content-Type-Options": "nosniff",
    }
