"""``/sparql``: the SPARQL 1.1 protocol, queries only."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from api import formats
from api.access.clients import client_of
from api.body import read_body, too_large
from api.connection import while_connected
from api.datasets.service import service_description
from api.lexer import read_form
from api.negotiation import negotiate
from api.parameters import any_other
from api.past import past_parameters
from api.rdf import document
from api.services import Services, Use
from core.errors import ApiError, BadQueryError
from core.stores.sparql_dataset import EXPLAIN, WARNING, Answer

T = TypeVar("T")
router = APIRouter(tags=["SPARQL"])

MAX_QUERY_BYTES = 1024 * 1024
_MAX_PARAMETERS = 200
_FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"
_UPDATE = "application/sparql-update"
_GRAPHS = ("default-graph-uri", "named-graph-uri")

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
        for name in _GRAPHS
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
        _FORM: {
            "schema": {
                "type": "object",
                "required": ["query"],
                "properties": {"query": {"type": "string"}},
            }
        },
    },
}


@dataclass(frozen=True)
class SparqlRequest:
    """One query of the protocol, with the graphs that it is limited to.

    If ``explain``, the answer is what the query asks the series store. ``asof`` is the
    time at which it runs; now if empty.
    """

    query: str
    graphs: tuple[tuple[str, str], ...] = ()
    explain: bool = False
    asof: str = ""


@router.get(
    "/sparql",
    summary="Run a SPARQL query",
    responses=_ANSWERS,
    response_class=Response,
    openapi_extra={"parameters": _QUERY_PARAMETERS},
)
async def sparql_get(request: Request, services: Use) -> Response:
    """Run the query in the URL; the form of the answer follows `Accept`.

    Without parameters, the answer describes the service, or leads to the editor.
    """
    text = request.scope["query_string"]
    if not text:
        return await _description(request, services)
    return await _answer(request, services, _read_parameters(text))


@router.post(
    "/sparql",
    summary="Run a SPARQL query sent as a form or as it is",
    responses=_ANSWERS,
    response_class=Response,
    openapi_extra={"requestBody": _BODY, "parameters": _QUERY_PARAMETERS[1:]},
)
async def sparql_post(request: Request, services: Use) -> Response:
    """Run the query in the body; the form of the answer follows `Accept`."""
    return await _answer(request, services, await _read_body(request))


async def _description(request: Request, services: Services) -> Response:
    what = "a request without a query is answered with the service description as RDF"
    accept = request.headers.getlist("accept")
    media_type = negotiate(accept, (*formats.TRIPLES, formats.HTML), what)
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
    dataset: str = "twin",
) -> bytes:
    """Return the complete answer in one media type; cancel it if the client leaves."""
    upstream = formats.upstream_type(media_type)
    store = services.history if dataset == "history" else services.sparql
    graphs = sparql_request.graphs
    work = partial(store.query, sparql_request.query, upstream, graphs)
    return await _in_turn(request, services, work)


async def _in_turn(
    request: Request, services: Services, work: Callable[[], Awaitable[T]]
) -> T:
    """Do some work when it is the client's turn, unless the client leaves."""

    async def answer() -> T:
        async with services.queue.turn(client_of(request)):
            return await work()

    return await while_connected(request, answer())


async def _ask(
    services: Services, sparql_request: SparqlRequest, media_type: str
) -> Answer:
    asof = sparql_request.asof
    past = await past_parameters(services, asof) if asof else ()
    return await services.sparql.answer(
        sparql_request.query, media_type, (*sparql_request.graphs, *past)
    )


async def _answer(
    request: Request, services: Services, sparql_request: SparqlRequest
) -> Response:
    form = read_form(sparql_request.query)
    if sparql_request.explain:
        return await _explanation(request, services, sparql_request)
    media_type = formats.answer_type(form, request.headers.getlist("accept"))
    upstream = formats.upstream_type(media_type)
    work = partial(_ask, services, sparql_request, upstream)
    answer = await _in_turn(request, services, work)
    found = response(answer.content, media_type)
    if answer.warning:
        found.headers[WARNING] = answer.warning
    return found


async def _explanation(
    request: Request, services: Services, sparql_request: SparqlRequest
) -> Response:
    graphs = (*sparql_request.graphs, EXPLAIN)
    work = partial(_ask, services, replace(sparql_request, graphs=graphs), _JSON)
    answer = await _in_turn(request, services, work)
    return Response(answer.content, media_type=_JSON)


def response(
    body: bytes | str, media_type: str, *, cut: Sequence[str] = ()
) -> Response:
    """Build a negotiated answer; a header says in words what was cut off."""
    headers = {
        "Content-Type": formats.content_type(media_type),
        "Vary": "Accept",
        "X-Content-Type-Options": "nosniff",
    }
    if cut:
        headers["SuperTwin-Cut"] = "; ".join(cut)
    return Response(body, headers=headers)


async def _read_body(request: Request) -> SparqlRequest:
    sent = request.headers.get("content-type", "")
    media_type = sent.partition(";")[0].strip().lower()
    if media_type == _UPDATE:
        raise _update()
    if media_type not in (_FORM, formats.QUERY):
        raise ApiError(
            415,
            "unsupported-media-type",
            "Unsupported type of body",
            f"{sent[:100]!r} sent; send {formats.QUERY} or {_FORM}",
            headers={"Accept-Post": f"{formats.QUERY}, {_FORM}"},
        )
    body = await read_body(request, MAX_QUERY_BYTES, "query")
    in_url = request.scope["query_string"]
    if media_type == _FORM:
        return _read_parameters(b"&".join(filter(None, (body, in_url))))
    return _request(_decoded(body), read_pairs(in_url))


def _read_parameters(text: bytes) -> SparqlRequest:
    if len(text) > MAX_QUERY_BYTES:
        raise too_large(MAX_QUERY_BYTES, "query")
    pairs = read_pairs(text)
    queries = [value for name, value in pairs if name == "query"]
    if any(name in ("update", "using-graph-uri") for name, _ in pairs):
        raise _update()
    if len(queries) != 1:
        detail = f"{len(queries)} parameters named query; send exactly one"
        raise BadQueryError("one-query", "Send exactly one query", detail)
    return _request(queries[0], pairs)


def _request(query: str, pairs: list[tuple[str, str]]) -> SparqlRequest:
    graphs = tuple(pair for pair in pairs if pair[0] in _GRAPHS)
    return SparqlRequest(query, graphs, EXPLAIN in pairs, dict(pairs).get("asof", ""))


def read_pairs(text: bytes) -> list[tuple[str, str]]:
    """Parse the name=value pairs of a form; raises BadQueryError."""
    try:
        return parse_qsl(
            text.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MAX_PARAMETERS,
        )
    except UnicodeError:
        raise _not_utf8() from None
    except ValueError:
        detail = f"more than {_MAX_PARAMETERS} parameters; send fewer"
        raise BadQueryError("bad-form", "Too many parameters", detail) from None


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise _not_utf8() from None


def _not_utf8() -> BadQueryError:
    detail = "the query is not UTF-8; send it as UTF-8, percent-encoded in forms"
    return BadQueryError("not-utf-8", "Not UTF-8", detail)


def _update() -> BadQueryError:
    detail = "only queries are run here; `supertwin ingest` changes the twin"
    return BadQueryError("update-refused", "Updates are not accepted", detail)
