"""Adds, replaces and removes saved queries over HTTP, and lists their versions."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Path, Request, Response

from api import formats
from api.access import audit
from api.access.roles import ANSWERS, requires
from api.access.scoped import scoped
from api.access.tokens import TokenRole
from api.body import body_type, read_body, unsupported_type
from api.failures import answered
from api.services import Services, Use
from api.sparql import run
from api.sparql_request import SparqlRequest
from core.errors import BadQueryError
from core.stores.errors import QuerySyntaxError
from dashboards.header import read_panels
from queries.added import MOST_BYTES, added_query, check_name
from queries.catalogue import SavedQuery
from queries.check import check_query
from queries.errors import CatalogueError
from queries.versions import Condition, QueryVersion, QueryVersions

router = APIRouter(tags=["Saved queries"])

T = TypeVar("T")

_OPERATOR = requires(TokenRole.OPERATOR)
# The check of a query takes up to some seconds of one core.
_CHECKS = CapacityLimiter(2)
# Compression makes tags weak, although each still stands for one text.
_TAGS = re.compile(r'\s*(?:W/)?(\*|"[^"]*")\s*(?:,|$)')
# A graph that no host is in: a query on it shows only whether it can run.
_NO_GRAPH = (("default-graph-uri", "urn:x-supertwin:no-graph"),)

Group = Annotated[str, Path(description="Folder of the query; a-z, 0-9 and -")]
Name = Annotated[str, Path(description="Name in the folder; a-z, 0-9 and -")]

_HEADERS: list[dict[str, Any]] = [
    {
        "name": "if-match",
        "in": "header",
        "description": "ETag of the text that is changed, or `*`",
        "schema": {"type": "string"},
    },
    {
        "name": "if-none-match",
        "in": "header",
        "description": "`*`: only if there is no such query",
        "schema": {"type": "string"},
    },
]
_CHANGED: dict[int | str, dict[str, Any]] = {
    **ANSWERS,
    400: {"description": "A bad name"},
    409: {"description": "A built-in query"},
    412: {"description": "If-Match is not the ETag of the query"},
}
_PUT: dict[int | str, dict[str, Any]] = {
    **_CHANGED,
    200: {
        "description": "Replaced, or the same text; version, ETag, time, address",
        "content": {formats.JSON: {}},
    },
    201: {"description": "Added", "content": {formats.JSON: {}}},
    400: {"description": "A bad name or query; the detail says what is wrong"},
    413: {"description": f"The text has more than {MOST_BYTES} bytes"},
    415: {"description": f"The body is not {formats.QUERY}"},
    428: {"description": "The query exists, and the request has no If-Match"},
}
_BODY = {
    "required": True,
    "content": {formats.QUERY: {"schema": {"type": "string"}}},
}


@router.put(
    "/queries/{group}/{name}",
    summary="Add or replace a saved query",
    response_class=Response,
    responses=_PUT,
    dependencies=[_OPERATOR],
    openapi_extra={"requestBody": _BODY, "parameters": _HEADERS},
)
async def put_query(
    request: Request, services: Use, group: Group, name: Name
) -> Response:
    """Add or replace a saved query: its text with the header.

    It must pass the checks of built-in queries.
    To replace a query, send its ETag, or `*`, as `If-Match`. Earlier texts stay
    readable as versions. Role: operator.
    """
    full = f"{group}/{name}"
    with answered():
        check_name(full)
    text = await _read_text(request)
    await _check(request, services, full, text)
    change = partial(_store(services).put, full, text, _condition(request))
    version, is_new = await _in_thread(change)
    audit.record(request, "query.added" if is_new else "query.changed", full)
    body = orjson.dumps(_described(services, full, version))
    headers = {"ETag": version.tag}
    if is_new:
        headers["Location"] = f"/queries/{quote(full)}"
    status = 201 if is_new else 200
    return Response(body, status, headers=headers, media_type=formats.JSON)


@router.delete(
    "/queries/{group}/{name}",
    summary="Remove an added query",
    status_code=204,
    responses={**_CHANGED, 404: {"description": "No such query was added"}},
    dependencies=[_OPERATOR],
    openapi_extra={"parameters": _HEADERS[:1]},
)
async def delete_query(
    request: Request, services: Use, group: Group, name: Name
) -> Response:
    """Remove an added query. Role: operator.

    Its versions stay readable, and a later query with this name continues their
    numbering.
    """
    full = f"{group}/{name}"
    await _in_thread(partial(_store(services).delete, full, _condition(request)))
    audit.record(request, "query.removed", full)
    return Response(status_code=204)


@router.get(
    "/queries/{group}/{name}/versions",
    summary="The versions of an added query",
    response_class=Response,
    responses={
        200: {"content": {formats.JSON: {}}},
        404: {"description": "No such query was ever added"},
    },
)
@scoped
async def query_versions(services: Use, group: Group, name: Name) -> Response:
    """Number, ETag, time and address of the text of each version, oldest first."""
    full = f"{group}/{name}"
    found = await _in_thread(partial(_store(services).versions, full))
    listed = [_described(services, full, version) for version in found]
    return Response(orjson.dumps(listed), media_type=formats.JSON)


def _store(services: Services) -> QueryVersions:
    return QueryVersions(services.settings.queries)


async def _in_thread(work: Callable[[], T]) -> T:
    with answered():
        return await to_thread.run_sync(work)


async def _read_text(request: Request) -> str:
    if body_type(request) != formats.QUERY:
        raise unsupported_type(request, formats.QUERY)
    body = await read_body(request, MOST_BYTES, "saved query")
    try:
        return body.decode()
    except UnicodeDecodeError:
        detail = "the query is not UTF-8; send it as UTF-8"
        raise BadQueryError("not-utf-8", "Not UTF-8", detail) from None


async def _check(request: Request, services: Services, name: str, text: str) -> None:
    """Raise ApiError unless the text passes the checks of built-in queries."""
    with answered(), _prefixing(name):
        query = added_query(name, text)
        await _run_on_empty_graph(request, services, query)
        await to_thread.run_sync(_check_header_and_panels, query, limiter=_CHECKS)


@contextmanager
def _prefixing(name: str) -> Iterator[None]:
    """Put the name of the query before what is wrong with it."""
    try:
        yield
    except CatalogueError as error:
        raise type(error)(f"{name}: {error}") from None


async def _run_on_empty_graph(
    request: Request, services: Services, query: SavedQuery
) -> None:
    """Run the query on an empty graph: the graph store refuses what it cannot run."""
    triples = query.form in ("construct", "describe")
    media_type = formats.TURTLE if triples else formats.RESULTS_JSON
    asked = SparqlRequest(query.text, _NO_GRAPH, dataset=query.dataset)
    try:
        await run(request, services, asked, media_type)
    except QuerySyntaxError as error:
        raise CatalogueError(f"is not SPARQL: {error.detail}") from None


def _check_header_and_panels(query: SavedQuery) -> None:
    check_query(query)
    for panel in read_panels(query):
        if panel.problem:
            name = f"queries/{query.name}.rq: "
            raise CatalogueError(panel.problem.removeprefix(name))


def _condition(request: Request) -> Condition:
    return Condition(_tags(request, "if-match"), _tags(request, "if-none-match"))


def _tags(request: Request, header: str) -> list[str] | None:
    sent = request.headers.getlist(header)
    return _TAGS.findall(",".join(sent)) if sent else None


def _described(services: Services, name: str, version: QueryVersion) -> dict[str, Any]:
    base = services.settings.base.rstrip("/")
    return {
        "name": name,
        "version": version.number,
        "etag": version.tag,
        "time": datetime.fromtimestamp(version.time, UTC).isoformat(),
        "url": f"{base}/queries/{quote(name)}.rq?version={version.number}",
    }
