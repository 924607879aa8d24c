"""The live page of an observation that runs or ended recently."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from api.dashboards.charts import find_chart
from api.observations.measured import observation_of
from api.observations.permissions import view_refusal
from api.observations.search import RUNS, rows
from api.observations.serialise import not_running, session_document
from api.services import Services
from api.web import pages
from dashboards.spec import Dashboard
from observations.record import plan_of

if TYPE_CHECKING:
    from observations.session.run_session import RunSession


async def live_page(
    request: Request, services: Services, id_: str, session: "RunSession | None"
) -> Response:
    """Return the page; redirect to the record if the session has gone."""
    links = pages.links(request, services.settings.base)
    if session is None:
        path = await _recorded(services, links, id_)
        return RedirectResponse(path, 303, {"Cache-Control": "no-store"})
    spec = session.run_request.spec
    host = str(services.iris.host(spec.host))
    return pages.page(
        "observation_live.html",
        request,
        services.settings.base,
        title=spec.command,
        headers={"Cache-Control": "no-store"},
        observation=session_document(services.iris, session),
        host=pages.RenderedTerm(spec.host, links.href(host), host),
        spec=spec,
        run_request=session.run_request,
        may_not=await view_refusal(request, services),
        chart=await _chart(services, session),
    )


async def _chart(services: Services, session: "RunSession") -> Dashboard | None:
    """Return the chart of what it samples, while it samples."""
    spec = session.run_request.spec
    if session.state.is_over or not session.run_request.samples:
        return None
    return await find_chart(services, spec.host, "plan", plan_of(session.id))


async def _recorded(services: Services, links: pages.Links, id_: str) -> str:
    """Return the path of a recorded run or group; raises NotFoundError."""
    iri = str(observation_of(services.iris, id_))
    if await rows(services, RUNS, {"id": iri}):
        return links.href(iri)
    if await rows(services, RUNS, {"group": id_}):
        return f"{links.root}/observations?{urlencode({'group': id_})}"
    raise not_running(id_)
