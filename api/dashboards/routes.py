"""``/dashboards``: the dashboards, for pages and for Grafana."""

from typing import Annotated, Any
from urllib.parse import quote, urlencode

import orjson
from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import RedirectResponse

from api import formats
from api.access.scoped import scoped
from api.connection import while_connected
from api.dashboards.specs import CachedDashboard
from api.negotiation import negotiate
from api.paging import Paged
from api.parameters import TIMES
from api.services import Services, Use
from api.sparql import response
from api.web import pages
from dashboards.spec import Dashboard

router = APIRouter(tags=["Dashboards"])

_FORMS = (formats.JSON, formats.HTML)

Name = Annotated[str, Path(description="Name of the dashboard, such as `monitor`")]
Host = Annotated[
    str | None,
    Query(
        description="Host name. Without it, a dashboard about one host is "
        "that of this machine, or of the only host; others show all hosts"
    ),
]
ComponentId = Annotated[
    str,
    Query(description="`id` of one of the dashboard's components; default: all"),
]
NOT_FOUND: dict[str, Any] = {
    "description": "An unknown dashboard, host or component; the detail names some"
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    400: {"description": "No host named, and several known: the detail names them"},
    404: NOT_FOUND,
    503: {"description": "The graph store is unreachable"},
}
_REDIRECT: dict[int | str, dict[str, Any]] = {
    307: {"description": "Redirect to the same address with the host"}
}


@router.get(
    "/dashboards",
    summary="The dashboards",
    response_class=Response,
    responses={200: {"content": {media_type: {} for media_type in _FORMS}}},
)
@scoped
async def dashboards(request: Request, services: Use, page: Paged) -> Response:
    """Name, title, number of panel headers and address of every dashboard."""
    media_type = _negotiated(request)
    found = [
        {
            "name": each.name,
            "title": each.title,
            "about_one_host": each.about_one_host,
            "panels": len(each.panels),
            "url": f"{services.settings.base}/dashboards/{quote(each.name)}",
        }
        for each in services.specs.definitions().values()
    ]
    if media_type == formats.JSON:
        made = response(orjson.dumps(page.of(found)), media_type)
        page.link(made, request, is_followed=page.is_followed(len(found)))
        return made
    state = await while_connected(request, services.specs.state(""))
    return pages.page(
        "dashboards.html",
        request,
        services.settings.base,
        title="Dashboards",
        dashboards=found,
        hosts=state.names,
        chosen=services.settings.host,
    )


@router.get(
    "/dashboards/{name}",
    summary="One dashboard",
    openapi_extra={"parameters": [*TIMES]},
    response_class=Response,
    responses={
        200: {
            "description": "All its sections, panels, series, tables and components",
            "content": {media_type: {} for media_type in _FORMS},
        },
        **_REDIRECT,
        **ANSWERS,
    },
)
@scoped
async def dashboard(
    request: Request,
    services: Use,
    name: Name,
    host: Host = None,
    component: ComponentId = "",
) -> Response:
    """The dashboard of a host, rebuilt whenever the graph changes.

    `component` is the component that the page shows at first.
    """
    media_type = _negotiated(request)
    work = _found(services, name, host)
    spec = await while_connected(request, work)
    spec.component(component)
    if spec.dashboard.host != (host or ""):
        return _with_host(request, services, spec)
    if media_type == formats.JSON:
        return response(spec.body, media_type)
    return pages.page(
        "dashboard.html",
        request,
        services.settings.base,
        title=_title(spec),
        dashboard=spec.dashboard,
        component=component,
    )


@router.get(
    "/dashboards/{name}/grafana",
    summary="One dashboard for Grafana",
    response_class=Response,
    responses={
        200: {
            "description": "A dashboard as Grafana's import takes it",
            "content": {formats.JSON: {}},
        },
        **_REDIRECT,
        **ANSWERS,
    },
)
@scoped
async def grafana(
    request: Request, services: Use, name: Name, host: Host = None
) -> Response:
    """The same panels as Grafana's JSON; Grafana asks for the data sources."""
    spec = await while_connected(request, _found(services, name, host))
    if spec.dashboard.host != (host or ""):
        return _with_host(request, services, spec, "/grafana")
    document = await to_thread.run_sync(_for_grafana, spec.dashboard)
    return response(orjson.dumps(document), formats.JSON)


def _for_grafana(shown: Dashboard) -> dict[str, Any]:
    # Grafana's builders take half a second to load, and few processes need them.
    from dashboards.grafana import render

    return render(shown)


async def _found(services: Services, name: str, host: str | None) -> CachedDashboard:
    return await services.specs.get(name, await services.specs.host(name, host))


def _with_host(
    request: Request, services: Services, spec: CachedDashboard, below: str = ""
) -> Response:
    """Redirect to the address with the host in it; other parameters stay."""
    root = pages.links(request, services.settings.base).root
    kept = [pair for pair in request.query_params.multi_items() if pair[0] != "host"]
    query = urlencode([("host", spec.dashboard.host), *kept])
    url = f"{root}/dashboards/{quote(spec.dashboard.name)}{below}?{query}"
    return RedirectResponse(url, headers={"Vary": "Accept"})


def _negotiated(request: Request) -> str:
    accept = request.headers.getlist("accept")
    return negotiate(accept, _FORMS, "dashboards are served as JSON and HTML")


def _title(spec: CachedDashboard) -> str:
    shown = spec.dashboard
    return f"{shown.title} – {shown.host}" if shown.host else shown.title
