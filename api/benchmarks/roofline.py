"""``/roofline/{host}``: the roofline model as data, a drawing and a page."""

import asyncio
from typing import Annotated, Literal
from urllib.parse import urlencode

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from markupsafe import Markup

from api import formats
from api.access.scoped import scoped
from api.connection import while_connected
from api.services import Services, Use
from api.sparql import response
from api.web import pages
from benchmarks.drawing import svg
from benchmarks.errors import NoBenchmarkError, PngError
from benchmarks.exports import csv_table, png
from benchmarks.roofline import ABOVE, Roofline, document
from benchmarks.roofline_rows import QUERIES, SOCKETS, not_measured, roofline
from core.errors import api_error
from queries.catalogue import saved_query
from queries.hosts import check_host

router = APIRouter(tags=["Benchmarks"])

# A conversion keeps a CPU busy.
_ONE_AT_A_TIME = CapacityLimiter(1)

_SVG, _PNG, _CSV = "image/svg+xml", "image/png", "text/csv"
_TYPES = (formats.JSON, _SVG, formats.HTML, _PNG, _CSV)
_FORMATS = {
    "json": formats.JSON,
    "svg": _SVG,
    "html": formats.HTML,
    "png": _PNG,
    "csv": _CSV,
}
_WHAT = "a roofline is served as JSON, CSV, SVG, PNG and HTML"


@router.get(
    "/roofline/{host}",
    summary="The roofline model of a host",
    response_class=Response,
    responses={
        200: {"content": {each: {} for each in _TYPES}},
        404: {"description": "An unknown host, or one without results of benchmarks"},
        503: {"description": "PNG needs rsvg-convert, which is not installed"},
    },
)
@scoped
async def host_roofline(
    request: Request,
    services: Use,
    host: Annotated[str, Path(max_length=300, description="Name of the host")],
    threads: Annotated[
        int | None,
        Query(ge=1, le=100_000, description="Threads; default: the most measured"),
    ] = None,
    precision: Annotated[
        Literal["double", "single"], Query(description="Precision of the peaks")
    ] = "double",
    format: Annotated[
        str | None,
        Query(description=f"Overrides `Accept`: {', '.join(_FORMATS)}"),
    ] = None,
) -> Response:
    """Bandwidths of all levels of memory, peaks, and runs as points between them."""
    media_type = formats.requested(request, _FORMATS, _TYPES, _WHAT)
    work = _read(services, host, threads, precision)
    model = await while_connected(request, work)
    if media_type == formats.HTML:
        return _page(request, services, model)
    if media_type == _SVG:
        return response(svg(model), _SVG)
    if media_type == _CSV:
        return response(csv_table(model), _CSV)
    if media_type == _PNG:
        return response(await _drawn(model), _PNG)
    return response(orjson.dumps(document(model)), formats.JSON)


async def _read(
    services: Services, host: str, threads: int | None, precision: str
) -> Roofline:
    roofs, points = (saved_query(name).bind({"host": host}) for name in QUERIES)
    table, runs = await asyncio.gather(
        services.graph.table(roofs), services.graph.texts(points)
    )
    try:
        return roofline(host, table.records(), runs, threads, precision)
    except NoBenchmarkError as error:
        await check_host(services, host)
        query = saved_query(SOCKETS).bind({"host": host})
        sockets = (await services.graph.table(query)).records()
        raise api_error(not_measured(error, host, threads, sockets)) from None


async def _drawn(model: Roofline) -> bytes:
    try:
        return await to_thread.run_sync(png, model, limiter=_ONE_AT_A_TIME)
    except PngError as error:
        raise api_error(error, error.status) from None


def _page(request: Request, services: Services, model: Roofline) -> Response:
    asked = request.query_params.multi_items()
    query = urlencode([(name, value) for name, value in asked if name != "format"])
    return pages.page(
        "roofline.html",
        request,
        services.settings.base,
        title=f"Roofline of {model.host}",
        model=model,
        above=ABOVE,
        query=query and f"{query}&",
        # Built from numbers and escaped texts only.
        drawing=Markup(svg(model)),  # noqa: S704
    )
