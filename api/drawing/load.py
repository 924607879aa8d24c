"""``/twin/{host}/load``: how busy each hardware thread is, to colour the drawing."""

import time
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from api import formats
from api.access.scoped import scoped
from api.connection import while_connected
from api.services import Services, Use
from api.sparql import response
from api.twin import Segment, decoded
from core.stores.errors import StoreError
from pinning.thread_load import by_thread, sampled, threads
from queries.hosts import check_host

router = APIRouter(tags=["Twin"])


@router.get("/twin/{host}/load", summary="How busy each thread is now")
@scoped
async def load(request: Request, services: Use, host: Segment) -> Response:
    """Shares from 0 to 1 by IRI of the thread, null without a recent sample.

    Threads that are not sampled are absent. If the store is unreachable, `problem` says
    so.
    """
    name = decoded(host)
    found = await while_connected(request, _load(services, name))
    return response(orjson.dumps(found), formats.JSON)


async def _load(services: Services, host: str) -> dict[str, Any]:
    rows = await sampled(services, host)
    if not rows:
        await check_host(services, host)
    busy, problem = dict[str, float | None](), ""
    try:
        busy = await by_thread(services, host, rows)
    except StoreError as error:
        busy, problem = dict.fromkeys(threads(rows).values()), error.detail
    return {"time": time.time(), "busy": busy, "problem": problem}
