"""``/twin/{host}/load``: how busy each hardware thread is, to colour the drawing."""

import math
import time
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from api import formats, nodes
from api.connection import while_connected
from api.fuseki import Row
from api.services import Services, Use
from api.sparql import response
from api.store import StoreError
from api.twin import Segment, decoded, unknown_host
from ontology.iris import series_name
from ontology.selectors import selector
from queries.catalogue import saved_query

router = APIRouter(tags=["Twin"])

# The monitor dashboard's own query: its heat map and the drawing show the same.
_QUERY = "monitor/threads"
_METRIC = "kernel.percpu.cpu.idle"
# Seconds in which two samples must lie for a thread to have a value.
_NEWEST = 10.0


@router.get("/twin/{host}/load", summary="How busy each thread is now")
async def load(request: Request, services: Use, host: Segment) -> Response:
    """Shares from 0 to 1 by IRI of the thread, null where nothing came lately.

    Threads that are not sampled are absent; `problem` says when the store is away.
    """
    name = decoded(host)
    found = await while_connected(request, _load(services, name))
    return response(orjson.dumps(found), formats.JSON)


async def _load(services: Services, host: str) -> dict[str, Any]:
    rows = await _sampled(services, host)
    if not rows:
        known = await nodes.hosts(services.graph)
        if (services.iris.host(host), None, None) not in known:
            raise unknown_host(host, known)
    busy, problem = dict[str, float | None](), ""
    try:
        busy = await _by_thread(services, host, rows)
    except StoreError as error:
        busy, problem = dict.fromkeys(_threads(rows).values()), error.detail
    return {"time": time.time(), "busy": busy, "problem": problem}


async def busy_threads(services: Services, host: str) -> dict[str, float | None]:
    """How busy each sampled thread is, by its IRI; raises StoreError."""
    return await _by_thread(services, host, await _sampled(services, host))


async def _by_thread(
    services: Services, host: str, rows: list[Row]
) -> dict[str, float | None]:
    busy = await _busy(services, host, rows) if rows else {}
    return {iri: busy.get(name) for name, iri in _threads(rows).items()}


def _threads(rows: list[Row]) -> dict[str, str]:
    return {row["instname"].value: row["component"].value for row in rows}


async def _sampled(services: Services, host: str) -> list[Row]:
    query = saved_query("telemetry/sampled").bind({"host": host, "metric": _METRIC})
    return [row for row in await services.graph.rows(query) if "instname" in row]


async def _busy(services: Services, host: str, rows: list[Row]) -> dict[str, float]:
    window = max(_NEWEST, *(3 * float(row["period"].value) for row in rows))
    series = selector(series_name(_METRIC), {"hostname": host})
    query = _expression().replace("$series", f"{series}[{window:g}s]")
    end = f"{time.time() + 1:.3f}"
    parameters = {"query": query, "time": end, "nocache": "1"}
    answer = await services.store.result("/api/v1/query", parameters)
    shares = {one["metric"].get("instname"): float(one["value"][1]) for one in answer}
    return {name: share for name, share in shares.items() if math.isfinite(share)}


def _expression() -> str:
    """The expression of the first panel of the monitor's query."""
    panels = saved_query(_QUERY).panels
    return str(panels[0]["expression"])
