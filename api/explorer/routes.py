"""``/explorer``: data that the component pages load after they are shown."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response
from rdflib import URIRef

from api import formats
from api.access.scoped import scoped
from api.bounds import bounded, bounded_marks
from api.connection import while_connected
from api.explorer.graph import find_parts
from api.explorer.page import host_of
from api.explorer.series import SampledSeries, find_sampled, read_sampled
from api.limits import cpus_for
from api.paging import Paged
from api.services import Services, Use
from api.sparql import response
from api.web import pages
from core.errors import NotFoundError
from core.stores.errors import StoreError
from queries.binding import IRI_PATTERN
from queries.hosts import check_host

router = APIRouter(prefix="/explorer", tags=["Explorer"])

Iri = Annotated[
    str,
    Query(
        description="IRI of the component",
        max_length=2000,
        pattern=f"^{IRI_PATTERN}$",
    ),
]


@router.get("/parts", summary="The direct parts of a component")
@scoped
async def parts(request: Request, services: Use, page: Paged, iri: Iri) -> Response:
    """One level of the hierarchy: each part with its kind and how many parts it has."""
    node, host = _component(services, iri)
    found = await while_connected(request, find_parts(services.graph, node))
    if not found:
        await check_host(services, host)
    made = pages.links(request, services.settings.base)
    listed = [
        {
            "iri": part.iri,
            "href": made.href(part.iri),
            "kind": part.kind,
            "label": part.label,
            "parts": part.parts,
        }
        for part in page.of(found)
    ]
    answer = response(orjson.dumps({"parts": listed}), formats.JSON)
    page.link(answer, request, is_followed=page.is_followed(len(found)))
    return answer


@router.get("/telemetry", summary="Last values and recent charts of a component")
@scoped
async def telemetry(request: Request, services: Use, iri: Iri) -> Response:
    """Sampled series of a component: last values, ages, the last 15 minutes.

    Counters are charted as rates; `bounded` has [place, measured] for each value that
    exceeds its maximum. `problem` is set if the series store is unreachable.
    """
    node, host = _component(services, iri)
    work = _telemetry(services, host, node)
    return response(orjson.dumps(await while_connected(request, work)), formats.JSON)


async def _telemetry(services: Services, host: str, node: URIRef) -> dict[str, Any]:
    sampled = await find_sampled(services.graph, node)
    if not sampled:
        await check_host(services, host)
    problem, times = "", list[float]()
    try:
        sampled, times = await read_sampled(services.store, host, sampled)
    except StoreError as error:
        problem = error.detail
    cpus = await cpus_for(services, host, [one.metric for one in sampled])
    return {
        "times": times,
        "metrics": [_listed(one, host, cpus) for one in sampled],
        "problem": problem,
    }


def _listed(sampled: SampledSeries, host: str, cpus: int | None) -> dict[str, Any]:
    metric, reading = sampled.metric, sampled.reading
    scale, chart_scale = float(metric.unit[1]), float(metric.drawn[1])
    measured = [None if v is None else v * chart_scale for v in reading.chart]
    (chart,) = bounded([measured], metric.greatest(cpus))
    return {
        "host": host,
        "metric": metric.name,
        "instance": sampled.instance,
        "telemetry": sampled.telemetry,
        "period": sampled.period,
        "value": None if reading.value is None else reading.value * scale,
        "text": reading.text,
        "time": reading.time,
        "unit": metric.unit[0],
        "chart": chart,
        "bounded": [mark[1:] for mark in bounded_marks([measured], [chart])],
        "chartUnit": metric.drawn[0],
        "rate": metric.is_counter,
    }


def _component(services: Services, iri: str) -> tuple[URIRef, str]:
    host = host_of(services, URIRef(iri))
    if not host:
        base = services.settings.base.rstrip("/")
        detail = f"{iri[:200]!r} is not a component; they begin with {base}/twin/"
        raise NotFoundError("unknown-component", "Unknown component", detail)
    return URIRef(iri), host
