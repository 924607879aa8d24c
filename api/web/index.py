"""``/``: the hosts, their health, and links to other pages."""

import asyncio
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from api.access.scoped import scoped
from api.connection import while_connected
from api.health import find_health
from api.services import Services, Use
from api.web import pages
from api.web.home import busy, host_cards
from core.errors import ApiError

router = APIRouter(include_in_schema=False)


@router.get("/", response_class=Response)
@scoped
async def index(
    request: Request, services: Use, view: Literal["cards", "table"] = "cards"
) -> Response:
    """The hosts of the twin, or the reason if the graph store is unreachable."""
    base = services.settings.base
    try:
        work = host_cards(services, pages.links(request, base))
        hosts, problem = await while_connected(request, work), ""
    except ApiError as error:
        hosts, problem = [], error.detail
    return pages.page(
        "index.html",
        request,
        base,
        title="Hosts",
        hosts=hosts,
        problem=problem,
        view=view,
    )


@router.get("/state")
@scoped
async def state(request: Request, services: Use) -> JSONResponse:
    """Health and load of each host, which the page polls.

    The status is 200 even if a service does not work.
    """
    content = await while_connected(request, _state(services))
    return JSONResponse(content, headers={"Cache-Control": "no-store"})


async def _state(services: Services) -> dict[str, Any]:
    health, found = await asyncio.gather(find_health(services), _busy(services))
    return {"health": health.model_dump(), **found}


async def _busy(services: Services) -> dict[str, Any]:
    try:
        return {"hosts": await busy(services), "problem": ""}
    except ApiError as error:
        return {"hosts": {}, "problem": error.detail}
