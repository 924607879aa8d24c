"""``/queries``: the saved queries, each a URL with bound parameters."""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Path, Request, Response

from api import formats
from api.access.scoped import scoped
from api.failures import answered
from api.host_order import with_hosts_in_order
from api.lexer import ResultForm
from api.negotiation import negotiate
from api.paging import Paged
from api.parameters import any_other, declared
from api.query_rows import bindings, rows_json_ld
from api.query_text import check_host, query_text
from api.services import Services, Use
from api.sparql import response, run
from api.sparql_request import SparqlRequest, read_pairs
from api.threads import computed
from api.web import query_page
from core.errors import ApiError, api_error
from queries.added import added_query
from queries.binding import Param
from queries.catalogue import SavedQuery
from queries.errors import CatalogueError, ParameterError, UnknownQueryError
from queries.run_ids import with_run_iris
from queries.versions import QueryVersions, tag

router = APIRouter(tags=["Saved queries"])

_LIST = (formats.JSON, formats.HTML)
_NUMBER = re.compile("[1-9][0-9]{0,8}")


@router.get(
    "/queries",
    summary="The saved queries",
    response_class=Response,
)
@scoped
async def saved_queries(request: Request, services: Use, page: Paged) -> Response:
    """Name, title, parameters, columns and URL of every saved query."""
    media_type = negotiate(
        request.headers.getlist("accept"), _LIST, "the list is served as JSON and HTML"
    )
    found, base = services.queries.all(), services.settings.base
    shown = dict(page.of([*found.items()]))
    if media_type == formats.HTML:
        problems = services.queries.problems()
        made = query_page.list_page(request, base, shown, problems)
    else:
        listed = [_listed(query, base) for query in shown.values()]
        made = response(orjson.dumps(listed), formats.JSON)
    page.link(made, request, is_followed=page.is_followed(len(found)))
    return made


_VERSION = declared(
    "version",
    "Version of an added query; default: the current text",
    {"type": "integer", "minimum": 1},
)


@router.get(
    "/queries/{group}/{name}",
    summary="Run a saved query",
    response_class=Response,
    openapi_extra={"parameters": [_VERSION, any_other("Parameters of the query")]},
    responses={
        200: {
            "description": "As for /sparql; also HTML, and the bound query's text, "
            "without parameters with its ETag"
        },
        400: {"description": "An unknown parameter, or an invalid value"},
        404: {"description": "No such query, version or host; the detail names others"},
    },
)
@scoped
async def saved_query(
    request: Request,
    services: Use,
    group: Annotated[str, Path(description="Folder of the query, such as `cache`")],
    name: Annotated[
        str,
        Path(
            description="Name in the folder, such as `sharing`; with .csv, .json, "
            ".jsonld, .ttl or .rq appended, in that format regardless of Accept"
        ),
    ],
) -> Response:
    """Run one saved query; its parameters are the parameters of the URL.

    `Accept: application/sparql-query` gives the query text. A table is also served as
    JSON-LD: each row is a node, each column a property of it.
    """
    stem, suffix = _requested_form(name)
    pairs, version = _without_version(read_pairs(request.scope["query_string"]))
    query = _find(services, f"{group}/{stem}", version)
    accept = [suffix] if suffix else request.headers.getlist("accept")
    form = ResultForm(query.form.upper())
    media_type = formats.answer_type(form, accept, extra=_extra(form))
    if media_type == formats.HTML:
        return await query_page.results_page(request, services, query, pairs, version)
    given = _given(query, pairs)
    text = await _bind(services, query, given)
    if media_type != formats.QUERY:
        await check_host(services, query, given)
    body = await _body(request, services, query, text, media_type)
    made = response(body, media_type)
    if media_type == formats.QUERY and text == query.text:
        made.headers["ETag"] = tag(text)
    if suffix == "text/csv":
        file = f"{group}-{stem}.csv"
        made.headers["Content-Disposition"] = f'attachment; filename="{file}"'
    return made


async def _body(
    request: Request,
    services: Services,
    query: SavedQuery,
    text: str,
    media_type: str,
) -> bytes | str:
    if media_type == formats.QUERY:
        return text
    asked = SparqlRequest(text, dataset=query.dataset)
    if media_type == formats.JSON_LD and query.form == "select":
        table = await run(request, services, asked, formats.RESULTS_JSON)
        ordered = await with_hosts_in_order(query, table, formats.RESULTS_JSON)
        return rows_json_ld(ordered, query.name, services.settings.base)
    body = await run(request, services, asked, media_type)
    return await with_hosts_in_order(query, body, media_type)


def _requested_form(name: str) -> tuple[str, str]:
    """Split a name into the query and the media type that its suffix selects."""
    stem, dot, ending = name.rpartition(".")
    if dot and ending in formats.ENDINGS:
        return stem, formats.ENDINGS[ending]
    return name, ""


def _extra(form: ResultForm) -> tuple[str, ...]:
    """Return the media types in addition to those of the answer's form."""
    json_ld = (formats.JSON_LD,) if form is ResultForm.SELECT else ()
    return (formats.QUERY, *json_ld, formats.HTML)


def _without_version(
    pairs: Sequence[tuple[str, str]],
) -> tuple[list[tuple[str, str]], int | None]:
    """Split the parameters of the query from the version, which is None if absent."""
    given = [value for name, value in pairs if name == "version"]
    rest = [pair for pair in pairs if pair[0] != "version"]
    if not given:
        return rest, None
    if len(given) > 1 or not _NUMBER.fullmatch(given[0]):
        raise _bad_parameter("version", "version is one whole number from 1")
    return rest, int(given[0])


def _find(services: Services, name: str, version: int | None) -> SavedQuery:
    if version is not None:
        return _version(services, name, version)
    try:
        return services.queries.find(name)
    except CatalogueError as error:  # in a file, which no client can fix
        raise api_error(error, 500) from None
    except UnknownQueryError:
        raise _unknown(services, name) from None


def _unknown(services: Services, name: str) -> ApiError:
    near = difflib.get_close_matches(
        name[:100], services.queries.names(), n=5, cutoff=0.4
    )
    hint = f"near: {', '.join(near)}" if near else "/queries lists them"
    detail = f"no saved query {name[:100]!r}; {hint}"
    return api_error(UnknownQueryError(detail), near=near)


def _version(services: Services, name: str, number: int) -> SavedQuery:
    with answered():
        text = QueryVersions(services.settings.queries).version(name, number)
        return added_query(name, text)


def _given(query: SavedQuery, pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Return the parameters, each given at most once; an empty one counts as absent."""
    given: dict[str, str] = {}
    for name, value in pairs:
        if name in given:
            raise _bad_parameter(name, f"parameter {name!r} is given more than once")
        given[name] = value
    return {name: v for name, v in given.items() if v or name not in query.params}


async def _bind(services: Services, query: SavedQuery, given: Mapping[str, str]) -> str:
    try:
        return await query_text(services, query, given)
    except ParameterError:
        raise _first_invalid(services, query, given) from None


def _first_invalid(
    services: Services, query: SavedQuery, given: Mapping[str, str]
) -> ApiError:
    for name, value in given.items():
        try:
            query.bind(with_run_iris(query, services.iris, {name: value}))
        except ParameterError as error:
            return _bad_parameter(name, str(error))
    raise AssertionError("the values are valid one by one, but not together")


def _bad_parameter(name: str, detail: str) -> ApiError:
    return api_error(ParameterError(detail), parameter=name[:100])


def _listed(query: SavedQuery, base: str) -> dict[str, Any]:
    return {
        "name": query.name,
        "title": query.title,
        "description": query.description,
        "params": {name: _param(param) for name, param in query.params.items()},
        "returns": query.returns,
        "dataset": query.dataset,
        "added": query.added,
        "url": f"{base.rstrip('/')}/queries/{quote(query.name)}",
    }


def _param(param: Param) -> dict[str, Any]:
    listed: dict[str, Any] = {"type": param.type, "default": param.default}
    if param.enum:
        listed["enum"] = list(param.enum)
    if param.description:
        listed["description"] = param.description
    return listed


async def column_values(
    request: Request,
    services: Services,
    name: str,
    given: Mapping[str, str],
    column: str,
) -> list[str]:
    """Return the values in a column of a saved query; raises ApiError."""
    query = _find(services, name, None)
    if column not in query.returns:
        detail = f"{name} has no column {column!r}; it has: {', '.join(query.returns)}"
        raise api_error(ParameterError(detail))
    text = await _bind(services, query, given)
    await check_host(services, query, given)
    asked = SparqlRequest(text, dataset=query.dataset)
    body = await run(request, services, asked, formats.RESULTS_JSON)
    rows = await computed(bindings, body)
    return [row[column] for row in rows if column in row]
