"""``/pin``: the CPUs for some threads or ranks, as JSON and as a page."""

from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request, Response

from api import formats
from api.access.scoped import scoped
from api.connection import while_connected
from api.negotiation import negotiate
from api.pin.page import form_page
from api.services import Use
from api.sparql import response
from pinning.placing import PinningRequest, place
from pinning.policy import LONGEST

router = APIRouter(tags=["Pinning"])

_WHAT = "a placement is served as JSON and HTML"


Host = Annotated[str, Query(max_length=300, description="Name of the host")]
Number = Annotated[str, Query(max_length=40, description="A whole number")]
PolicyText = Annotated[
    str,
    Query(
        max_length=LONGEST,
        description="Words joined by + or spaces: `per:socket=4+distinct:l1`",
    ),
]
Name = Annotated[str, Query(max_length=100, description="One of the names listed")]


@router.get(
    "/pin",
    summary="Where to pin threads or ranks",
    response_class=Response,
    responses={
        400: {"description": "An invalid policy, number or format"},
        404: {"description": "An unknown host"},
        409: {"description": "The host has fewer; the detail names the limit"},
        422: {"description": "A CPU, device or kind of core that the host lacks"},
    },
)
@scoped
async def pin(
    request: Request,
    services: Use,
    host: Host = "",
    threads: Number = "",
    policy: PolicyText = "",
    format: Name = "",
    ranks: Number = "",
    nodes: Number = "",
    map: Name = "",
    rank: Name = "",
    bind: Name = "",
) -> Response:
    """The CPUs in order, the reason, and the saved queries that were used.

    With `ranks`, each rank has `threads` cores and is placed by `map`, `rank`, `bind`.
    """
    accept = request.headers.getlist("accept")
    media_type = negotiate(accept, (formats.JSON, formats.HTML), _WHAT)
    pin_request = PinningRequest(
        host, threads, policy, format, ranks, nodes, map, rank, bind
    )
    if media_type == formats.HTML:
        return await while_connected(request, form_page(request, services, pin_request))
    found, _ = await while_connected(request, place(services, pin_request))
    return response(orjson.dumps(found), formats.JSON)
