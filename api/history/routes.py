"""``/history/{host}``: states and changes; ``/open``: a host by any of its names."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request, Response

from api import formats
from api.access.scoped import scoped
from api.connection import while_connected
from api.negotiation import negotiate
from api.paging import Paged
from api.services import Services, Use
from api.sparql import response
from api.twin import Segment, decoded
from api.web import pages
from core.errors import api_error
from ingest.errors import NoSuchStateError
from ingest.history.changes import TwinChange, changes, deltas_query
from ingest.history.states import HostState, pair, read_states, states_query
from queries.catalogue import saved_query
from queries.errors import AmbiguousHostError, UnknownHostError
from queries.hosts import check_host
from queries.names import choose

router = APIRouter(tags=["History"])

_WHAT = "the history of a host is served as JSON and HTML"
_SHOWN = 200

Moment = Annotated[
    str,
    Query(max_length=200, description="A time (UTC), a probe, or a state's number"),
]


@dataclass(frozen=True)
class HistoryResponse:
    """The states of a host, and the changes between two; all may be empty."""

    host: str
    states: Sequence[HostState]
    older: HostState | None = None
    newer: HostState | None = None
    changes: Sequence[TwinChange] = ()


@router.get(
    "/history/{host}",
    summary="What changed on a host",
    response_class=Response,
    responses={404: {"description": "An unknown host, or no such state"}},
)
@scoped
async def history(
    request: Request,
    services: Use,
    host: Segment,
    page: Paged,
    first: Annotated[Moment, Query(alias="from")] = "",
    last: Annotated[Moment, Query(alias="to")] = "",
) -> Response:
    """All states of a host and the changes between two, by default the last two.

    With `from` only, up to the current state; with `to` only, what that state changed.
    `limit` and `offset` choose among the states.
    """
    accept = request.headers.getlist("accept")
    media_type = negotiate(accept, (formats.JSON, formats.HTML), _WHAT)
    work = _past(services, decoded(host), first, last)
    past = await while_connected(request, work)
    total = len(past.states)
    past = replace(past, states=page.of(past.states))
    if media_type == formats.HTML:
        made = _page(request, services, past)
    else:
        made = response(orjson.dumps(asdict(past)), formats.JSON)
    page.link(made, request, is_followed=page.is_followed(total))
    return made


@router.get("/open", summary="A host by any of its names", response_class=Response)
@scoped
async def open_host(
    request: Request,
    services: Use,
    name: Annotated[
        str,
        Query(max_length=300, description="Name, alias, IP address or ssh:// address"),
    ],
) -> Response:
    """Redirect to the page of the host with this name."""
    text = saved_query("fleet/find").bind({})
    rows = await while_connected(request, services.graph.select(text))
    try:
        found = choose(rows.records(), name)
    except (UnknownHostError, AmbiguousHostError) as error:
        raise api_error(error) from None
    made = pages.links(request, services.settings.base)
    return Response(status_code=303, headers={"Location": made.href(found.node)})


async def _past(
    services: Services, host: str, first: str, last: str
) -> HistoryResponse:
    text = states_query(services.iris, host)
    states = read_states(await services.history.select(text))
    if not states:
        await check_host(services, host)
        return HistoryResponse(host, states)
    try:
        older, newer = pair(states, host, first, last)
    except NoSuchStateError as error:
        raise api_error(error) from None
    text = deltas_query(services.iris, host, older.number, newer.number)
    rows = await services.history.select(text)
    numbered = {state.number: state for state in states}
    found = changes(rows, services.iris, host, numbered)
    return HistoryResponse(host, states, older, newer, found)


def _page(request: Request, services: Services, past: HistoryResponse) -> Response:
    base = services.settings.base
    made = pages.links(request, base)
    return pages.page(
        "history.html",
        request,
        base,
        title=f"History of {past.host}",
        past=past,
        node=made.href(services.iris.host(past.host)),
        states=list(reversed(past.states))[:_SHOWN],
        left_out=max(0, len(past.states) - _SHOWN),
        changes=past.changes[:_SHOWN],
        more=max(0, len(past.changes) - _SHOWN),
    )
