"""``/plans``: the sampling plans of one host, or of all."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response

from api import formats
from api.access.scoped import scoped
from api.connection import while_connected
from api.negotiation import negotiate
from api.paging import Paged
from api.services import Services, Use
from api.sparql import response
from api.web import pages
from queries.catalogue import saved_query
from queries.hosts import check_host

router = APIRouter(tags=["Telemetry"])

_WHAT = "plans are served as JSON and HTML"


@router.get(
    "/plans",
    summary="What is sampled, and how often",
    response_class=Response,
    responses={404: {"description": "An unknown host"}},
)
@scoped
async def plans(
    request: Request,
    services: Use,
    page: Paged,
    host: Annotated[
        str, Query(max_length=300, description="Host name; default: all")
    ] = "",
) -> Response:
    """Each plan by name: period in seconds, metrics and instances.

    `instances` is null if all are sampled. POST and DELETE, like
    `supertwin sample`, change them.
    """
    accept = request.headers.getlist("accept")
    media_type = negotiate(accept, (formats.JSON, formats.HTML), _WHAT)
    found = await while_connected(request, find_plans(services, host))
    shown = page.of(found)
    if media_type == formats.HTML:
        title = f"Plans of {host}" if host else "Plans"
        base = services.settings.base
        made = pages.page("plans.html", request, base, title=title, plans=shown)
    else:
        made = response(orjson.dumps(shown), formats.JSON)
    page.link(made, request, is_followed=page.is_followed(len(found)))
    return made


async def find_plans(services: Services, host: str) -> list[dict[str, Any]]:
    """Return the plans of a host, or of all; raises NotFoundError."""
    if host:
        await check_host(services, host)
    text = saved_query("telemetry/plans").bind({"host": host or None})
    rows = await services.graph.select(text)
    return [_plan(services, row) for row in rows.records()]


def _listed(text: str | None) -> list[str]:
    return text.split(", ") if text else []


def _plan(services: Services, row: dict[str, Any]) -> dict[str, Any]:
    given = row["parameters"]
    return {
        **row,
        "period": float(row["period"]),
        "parameters": orjson.loads(given) if given else None,
        "roles": _listed(row["roles"]),
        "events": _listed(row["events"]),
        "node": str(services.iris.host(row["host"])),
    }
