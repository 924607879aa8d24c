"""``/dashboards/{name}/live``: the points of a dashboard as a live stream."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from api.access.clients import client_of
from api.access.scoped import scoped
from api.connection import while_connected
from api.dashboards.feed import Feed
from api.dashboards.points import PanelPoints, PanelRequest
from api.dashboards.ranges import ExpressionError
from api.dashboards.routes import ANSWERS, ComponentId, Host, Name
from api.dashboards.series import MAX_POINTS, explained
from api.dashboards.steps import grid, round_step
from api.dashboards.watcher import (
    StoreProblem,
    StreamEnd,
    Tick,
    TwinChanged,
    Watcher,
    WindowsReset,
)
from api.services import Services, Use
from core.errors import ApiError
from core.stores.errors import StoreError

router = APIRouter(tags=["Dashboards"])

MEDIA_TYPE = "text/event-stream"
_HEARTBEAT_S = 8.0
_LOOK_S = 2.0
_NOTHING = b": nothing new\n\n"
_LONGEST_S = 7 * 86_400
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}


@router.get(
    "/dashboards/{name}/live",
    summary="The points of a dashboard as a live stream",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Events: `window` (an object as /series gives it) for each "
            'panel with series, `tick` (`{"time": …, "panels": {id: [values]}, '
            '"bounded": {id: [[series, 0, measured]]}}`) for '
            "each step after it, `problem` while a store is unreachable, `recovered` "
            "and fresh windows afterwards, `changed` when the twin of the host has "
            "changed",
            "content": {MEDIA_TYPE: {}},
        },
        **ANSWERS,
        503: {"description": "The graph store is unreachable, or too many streams"},
    },
)
@scoped
async def live(
    request: Request,
    services: Use,
    name: Name,
    host: Host = None,
    seconds: Annotated[
        int, Query(description="Length of the windows in seconds", ge=1, le=_LONGEST_S)
    ] = 300,
    points: Annotated[
        int, Query(description="Maximum number of times", ge=1, le=MAX_POINTS)
    ] = 600,
    component: ComponentId = "",
) -> Response:
    """Server-sent events, until either side ends.

    The step is a round number that follows from `seconds` and `points`; each step is
    sent once, in order.
    """
    chosen = await while_connected(request, services.specs.host(name, host))
    spec = await while_connected(request, services.specs.recent(name, chosen))
    narrowed = spec.component(component)
    step = round_step(seconds, points)
    if request.scope.get("head"):
        return Response(headers=_HEADERS, media_type=MEDIA_TYPE)
    client = client_of(request)
    feed, watcher = services.feeds.join(spec, narrowed, step, client)
    return _Stream(services, feed, watcher, seconds)


class _Stream(StreamingResponse):
    """Leaves the feed when the stream ends for any reason."""

    def __init__(
        self, services: Services, feed: Feed, watcher: Watcher, seconds: int
    ) -> None:
        events = _events(services, feed, watcher, seconds)
        super().__init__(events, headers=_HEADERS, media_type=MEDIA_TYPE)
        self._feeds, self._feed, self._watcher = services.feeds, feed, watcher

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feeds.leave(self._feed, self._watcher)


async def _events(
    services: Services, feed: Feed, watcher: Watcher, seconds: int
) -> AsyncIterator[bytes]:
    """Yield the events for a client; a temporary problem never ends the stream."""
    yield b"retry: 3000\n\n"
    await feed.ready.wait()
    for detail in feed.problems.values():
        watcher.tell(StoreProblem(detail))
    watcher.tell(WindowsReset())
    last_problem = ""
    # A tick is sent only after the windows that it continues.
    last, lost = math.inf, False
    while not isinstance(message := await watcher.next(_HEARTBEAT_S), StreamEnd):
        if isinstance(message, StoreProblem):
            if message.detail == last_problem:
                continue
            last_problem = message.detail
            yield _event("problem", orjson.dumps({"detail": message.detail}))
        elif isinstance(message, TwinChanged):
            yield _event("changed", b"{}")
        elif isinstance(message, Tick) and not lost:
            if message.time > last:
                last = message.time
                yield _event("tick", message.body)
        elif message is None:
            yield _NOTHING
        elif "store" not in feed.problems:
            if lost or (isinstance(message, WindowsReset) and message.recovered):
                yield _event("recovered", b"{}")
            last, lost, last_problem = feed.last, False, ""
            try:
                async with aclosing(_windows(services, feed, seconds, last)) as bodies:
                    async for body in bodies:
                        if watcher.is_over:
                            return
                        yield _event("window", body) if body else _NOTHING
            except ApiError as error:
                lost = True
                last_problem = error.detail
                yield _event("problem", orjson.dumps({"detail": last_problem}))


async def _windows(
    services: Services, feed: Feed, seconds: int, end: int
) -> AsyncGenerator[bytes]:
    """Yield each panel's window as soon as it is read; several are read in advance.

    While one takes long, yields empty bodies as a heartbeat. Raises StoreError if the
    store hangs.
    """
    tasks = []

    async def window(panel_request: PanelRequest) -> bytes:
        async with services.feeds.allowed:
            return await _window(services, feed, panel_request, seconds, end)

    try:
        tasks = [
            asyncio.create_task(window(panel_request))
            for panel_request in feed.panel_requests
        ]
        for task in tasks:
            while not (await asyncio.wait({task}, timeout=_LOOK_S))[0]:
                if "store" in feed.problems:
                    raise StoreError(feed.problems["store"])
                yield b""
            yield task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _window(
    services: Services, feed: Feed, panel_request: PanelRequest, seconds: int, end: int
) -> bytes:
    step = feed.step_of(panel_request)
    times = grid(time.time() - seconds, end, step)
    try:
        columns = await services.reader.columns(
            panel_request.panel, times, panel_request.component
        )
    except ExpressionError as error:
        columns = [[None] * times.count for _ in panel_request.panel.series]
        found = PanelPoints(panel_request.panel, times, columns, [error.detail])
        return found.body()
    found = PanelPoints(panel_request.panel, times, columns)
    return (await explained(services, panel_request, found)).body()


def _event(name: str, body: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), body)
