"""``/dashboards/{name}/series``: the points of one panel between two times."""

import time
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api import formats
from api.access.scoped import scoped
from api.connection import while_connected
from api.dashboards.points import PanelPoints, PanelRequest, final_points
from api.dashboards.routes import ANSWERS, ComponentId, Host, Name
from api.dashboards.specs import CachedDashboard
from api.dashboards.steps import grid, round_step
from api.services import Services, Use
from api.sparql import response
from core.errors import ApiError, NotFoundError
from dashboards.spec import PanelSeries
from sampling.why.verdict import judge
from sampling.why.why import evidence

router = APIRouter(tags=["Dashboards"])

MAX_POINTS = 5000
_RANGE_S = 300.0
_DAY = 86_400.0
_FARTHEST_S = 20 * 365 * _DAY


@dataclass(frozen=True)
class TimeRange:
    """A range of time, in Unix seconds."""

    start: float
    end: float


@router.get(
    "/dashboards/{name}/series",
    summary="The points of one panel",
    response_class=Response,
    responses={
        200: {
            "description": "`times` (Unix seconds), `values` with one list per series "
            "of the panel, in its order, null for a missing point; `bounded` has "
            "[series, place, measured] for each value that the panel's limits bound; "
            "`why` has the reasons if there are no points at all",
            "content": {formats.JSON: {}},
        },
        **ANSWERS,
        400: {"description": "Invalid range of time, or a panel without series"},
        502: {"description": "The series store rejects the panel's expression"},
        503: {"description": "The series store or the graph store is unreachable"},
    },
)
@scoped
async def panel_series(
    request: Request,
    services: Use,
    name: Name,
    panel: Annotated[str, Query(description="`id` of the panel")],
    host: Host = None,
    start: Annotated[
        float | None,
        Query(
            ge=0,
            allow_inf_nan=False,
            description="Unix seconds; default: 300 s before the end",
        ),
    ] = None,
    end: Annotated[
        float | None,
        Query(ge=0, allow_inf_nan=False, description="Unix seconds; default: now"),
    ] = None,
    points: Annotated[
        int, Query(description="Maximum number of times", ge=1, le=MAX_POINTS)
    ] = 600,
    component: ComponentId = "",
) -> Response:
    """Values at multiples of a round step, each of the step that ends there.

    The newest times are left out until the samples of all series have arrived.
    """
    work = _read(services, name, host, panel, component, (start, end), points)
    return response(await while_connected(request, work), formats.JSON)


async def _read(
    services: Services,
    name: str,
    host: str | None,
    panel: str,
    component: str,
    ends: tuple[float | None, float | None],
    points: int,
) -> bytes:
    now = time.time()
    spec = await services.specs.recent(name, await services.specs.host(name, host))
    panel_request = find_panel(spec, panel, component)
    span = _span(*ends, now)
    step = round_step(span.end - span.start, points, panel_request.period)
    times = grid(span.start, span.end, step)
    found = await final_points(services.reader, panel_request, times, now)
    return (await explained(services, panel_request, found)).body()


def find_panel(spec: CachedDashboard, id_: str, component: str) -> PanelRequest:
    """Return a panel with series; raises NotFoundError, or 400 for a table."""
    panel = spec.panels.get(id_)
    if panel is None:
        some = ", ".join(list(spec.panels)[:20])
        detail = f"dashboard {spec.dashboard.name} has no panel {id_[:80]!r}; {some} …"
        raise NotFoundError("unknown-panel", "Unknown panel", detail)
    if panel.picture == "table":
        detail = f"panel {id_} is a table: its rows are in the dashboard itself"
        raise ApiError(400, "no-series", "No series", detail)
    return PanelRequest(spec, panel, spec.component(component))


async def explained(
    services: Services, panel_request: PanelRequest, found: PanelPoints
) -> PanelPoints:
    """Add the reasons if there are no points at all."""
    if not found.empty:
        return found
    return PanelPoints(
        found.panel, found.grid, found.columns, await why(services, panel_request)
    )


async def why(services: Services, panel_request: PanelRequest) -> list[str]:
    """Say why a panel is empty, as determined from its first series."""
    panel = panel_request.panel
    if panel.problem:
        return [panel.problem]
    series = _first(panel_request)
    if series is None:
        return list(panel.why) or ["this panel draws nothing about the component"]
    try:
        found = await evidence(
            services, panel_request.spec.dashboard.host, series.metric, None
        )
    except ApiError as error:
        return [error.detail]
    judged = judge(found)
    if judged.verdict == "data":
        return [f"no sample of {series.metric} in this time, but there are others"]
    return [judged.reason, *panel.why]


def _first(panel_request: PanelRequest) -> PanelSeries | None:
    inside = panel_request.component.instances if panel_request.component else ()
    narrowed = bool(panel_request.component and panel_request.panel.narrows)
    for series in panel_request.panel.series:
        if not narrowed or series.instname in inside:
            return series
    return None


def _span(start: float | None, end: float | None, now: float) -> TimeRange:
    last = now if end is None else end
    first = last - _RANGE_S if start is None else start
    if first >= last:
        raise _invalid_times(f"start {first:.15g} is not before end {last:.15g}")
    if first > now or last > now + _DAY:
        raise _invalid_times(
            f"{max(first, last):.15g} is in the future; now is {now:.0f}"
        )
    if first < now - _FARTHEST_S:
        raise _invalid_times(f"start {first:.15g} is more than 20 years ago")
    return TimeRange(first, last)


def _invalid_times(detail: str) -> ApiError:
    return ApiError(400, "bad-times", "Not a range of time", detail)
