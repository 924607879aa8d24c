"""A dashboard written by hand, with its points, for what real ones seldom show."""

import asyncio
import math
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import uvicorn
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from api.app import create_app
from api.web import pages
from core.settings.settings import Settings
from dashboards.spec import (
    Dashboard,
    Panel,
    PanelSeries,
    Picture,
    Section,
    TableData,
    Unit,
)
from dashboards.spec import TableColumn as TableColumn
from tests.dashboards.specs import roofline_panel
from tests.ports import LOOPBACK
from tests.servers import wait_until

BASE = "http://localhost:8000"
_SHARE = Unit("FRACTION", "%", "percentunit", "none")
_BYTE = Unit("BYTE", "B", "bytes", "binary")
ABSENT = "PCP on n1 does not offer denki.rapl.rate"
BROKEN = "saved query pmu/events: line 3: unexpected '}'"
DEAD = "no value of dead.metric has arrived yet"


def series(count: int, group: int = 2) -> tuple[PanelSeries, ...]:
    """Return this many series of threads; neighbours share a core."""
    return tuple(
        PanelSeries(
            label=f"thread {i}",
            component=f"{BASE}/twin/n1/thread/{i}",
            metric="m",
            db_name="m",
            instname=f"cpu{i}",
            target=0,
            group=f"core {i // group}",
        )
        for i in range(count)
    )


def panel(name: str, picture: Picture, count: int = 0, **more: object) -> Panel:
    """Return a panel of this kind of picture, with this many series."""
    values: dict[str, object] = {
        "description": "Made by hand.",
        "query": "telemetry/sampled",
        "unit": _SHARE,
        "series": series(count),
        "width": 8,
        **more,
    }
    return Panel(id=name, title=name.capitalize(), picture=picture, **values)  # type: ignore[arg-type]


PANELS = (
    panel("stats", "stat", 3),
    panel("bars", "bars", 4, minimum=0.0, maximum=1.0),
    panel("stack", "timeseries", 3, stack=True),
    panel("many", "timeseries", 64, minimum=0.0, maximum=1.0, why=(ABSENT,)),
    panel("gaps", "heatmap", 6, minimum=0.0, maximum=1.0),
    panel("broken", "table", problem=BROKEN),
    panel("absent", "timeseries", why=(ABSENT,)),
    panel("dead", "timeseries", 2),
    panel(
        "table",
        "table",
        unit=None,
        table=TableData(
            (
                TableColumn("name"),
                TableColumn("memorySize", True, _BYTE),
                TableColumn("load"),
            ),
            (("b10", 3 * 2.0**30, 2 / 3), ("b9", None, 7), ("b1", 2.0**20, None)),
            "SELECT …",
        ),
    ),
    roofline_panel(width=16, height=12),
)
SPEC = Dashboard("handmade", "Made by hand", "n1", BASE, (Section("All", PANELS),))


def value(name: str, index: int, at: int) -> float | None:
    """Return a wave; row 2 of the heat map has gaps, and dead series have no values."""
    if name == "dead" or (name == "gaps" and index == 1 and at % 60 < 30):
        return None
    return 0.5 + 0.4 * math.sin(at / 20 + index)


def window(each: Panel, start: int, end: int) -> dict[str, object]:
    """Return the points of a panel, one a second."""
    times = list(range(start, end + 1))
    return {
        "panel": each.id,
        "start": start,
        "end": end,
        "step": 1,
        "times": times,
        "values": [
            [value(each.id, i, at) for at in times] for i in range(len(each.series))
        ],
        "why": [DEAD] if each.id == "dead" else [],
    }


router = APIRouter(prefix="/dashboards/handmade")


@router.get("", response_class=Response)
async def page(request: Request) -> Response:
    return pages.page(
        "dashboard.html",
        request,
        BASE,
        title=SPEC.title,
        dashboard=SPEC,
        component="",
    )


@router.get("/live")
async def live(request: Request, seconds: int) -> StreamingResponse:
    return StreamingResponse(_events(request, seconds), media_type="text/event-stream")


async def _events(request: Request, seconds: int) -> AsyncIterator[bytes]:
    now = int(time.time())
    for each in PANELS:
        if each.series:
            body = orjson.dumps(window(each, now - seconds, now))
            yield b"event: window\ndata: " + body + b"\n\n"
    while not await request.is_disconnected():
        await asyncio.sleep(0.1)


@contextmanager
def handmade_site(home: Path) -> Iterator[str]:
    """Serve the dashboard from an API in a thread; return its address."""
    app = create_app(Settings(**{"base": BASE, "home": home}))
    app.router.routes[0:0] = router.routes
    with socket.create_server((LOOPBACK, 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield f"http://{LOOPBACK}:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
