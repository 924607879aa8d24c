"""``GET /observations``: the recorded runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import orjson
from fastapi import APIRouter, Request, Response

from api import formats
from api.connection import while_connected
from api.negotiation import negotiate
from api.observations.figures import duration
from api.observations.search import (
    RUNS,
    Row,
    SearchEntry,
    entries,
    find_runs,
    invalid_values,
    params,
)
from api.paging import NAMES, Paged
from api.parameters import declared
from api.services import Services, Use
from api.sparql import response
from api.sparql_request import read_pairs
from api.web import pages
from api.web.pages import Links, RenderedTerm
from api.web.query_form import FormField, Option, fields
from core.errors import ApiError
from observations.record import Outcome
from pinning.policy import WORDS
from queries.binding import Param

router = APIRouter(tags=["Observations"])

_WHAT = "the runs are served as JSON and HTML"
_MOST = 200
_GROUP = "group"
# The most common fields; the others are collapsed.
_FIRST = ("text", "tag", "host", "ended", "pinned")
_LABELS = {
    "text": "command",
    "ended": "outcome",
    "pinned": "policy",
    _GROUP: "group",
    "numa": "NUMA domains",
}
_SUGGESTED: Mapping[str, Sequence[Option]] = {
    "ended": [Option(outcome, "") for outcome in Outcome],
    "pinned": [Option(word, about) for word, about in WORDS.items()],
}


def _declared(param: Param) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": param.type}
    if param.enum:
        schema["enum"] = [*param.enum]
    return declared(param.name, param.description, schema)


@router.get(
    "/observations",
    summary="The recorded runs",
    response_class=Response,
    responses={
        400: {"description": "An unknown parameter, or an invalid value"},
        503: {"description": "The graph store is unreachable"},
    },
    openapi_extra={"parameters": [*map(_declared, params())]},
)
async def observations(request: Request, services: Use, page: Paged) -> Response:
    """Runs by the saved query `observations/runs`, latest first. Accepts its parameters
    and those of `observations/by-metric`, for runs in which the mean of a series
    exceeds a limit.
    """
    accept = request.headers.getlist("accept")
    media_type = negotiate(accept, (formats.JSON, formats.HTML), _WHAT)
    pairs = read_pairs(request.scope["query_string"])
    given = {name: v for name, v in pairs if v and name not in NAMES}
    if media_type == formats.HTML:
        return await while_connected(request, _list_page(request, services, given))
    found = await while_connected(request, find_runs(services, given))
    made = response(orjson.dumps(page.of(found), default=float), formats.JSON)
    page.link(made, request, is_followed=page.is_followed(len(found)))
    return made


async def _list_page(
    request: Request, services: Services, given: Mapping[str, str]
) -> Response:
    """Return the form with the runs found, or why none were found."""
    runs, problem, status = list[Row](), "", 200
    errors = invalid_values(given)
    try:
        runs = [] if errors else await find_runs(services, given)
    except ApiError as error:
        problem, status = error.detail, error.status
    every = await _fields(services, given, errors)
    found = list(entries(runs, apart=_GROUP in given))
    links = pages.links(request, services.settings.base)
    return pages.page(
        "observations.html",
        request,
        services.settings.base,
        status=400 if errors else status,
        title="Observations",
        headers={"Cache-Control": "no-store"},
        first=[field for field in every if field.name in _FIRST],
        more=[field for field in every if field.name not in _FIRST],
        labels=_LABELS,
        given=given,
        problem=problem,
        total=len(runs),
        undecided=sum(bool(run["undecided"]) for run in runs),
        entries=[_listed(services, links, one) for one in found[:_MOST]],
        left_out=len(found) - _MOST,
        query=RUNS,
    )


async def _fields(
    services: Services, given: Mapping[str, str], errors: Mapping[str, str]
) -> list[FormField]:
    """Return the fields of the search, with common values as suggestions."""
    found = await fields(services.graph, services.iris, params(), given, errors)
    return [
        replace(field, suggested=tuple(_SUGGESTED.get(field.name, field.suggested)))
        for field in found
    ]


def _listed(services: Services, links: Links, entry: SearchEntry) -> dict[str, Any]:
    """Build a row of the list; the row of a group links to its repetitions."""
    last = entry.runs[0]
    host = str(services.iris.host(last["host"]))
    several = entry.id == last["group"]
    return {
        "id": entry.id,
        "href": f"{links.root}/observations?{urlencode({_GROUP: entry.id})}"
        if several
        else links.href(str(last["run"])),
        "command": last["command"],
        "host": RenderedTerm(last["host"], links.href(host), host),
        "policy": last["policy"] or "",
        "threads": last["threads"],
        "started": last["started"].isoformat(),
        "outcomes": entry.outcomes,
        "exit": last["exitStatus"],
        "repetition": last["repetition"] if last["group"] else None,
        "runs": len(entry.runs) if several else 0,
        "took": duration(entry.seconds),
        "seconds": entry.seconds,
    }
