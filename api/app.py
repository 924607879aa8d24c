"""Assembles the routes, errors and stores into one application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Security
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import (
    administration,
    exports,
    health,
    host_list,
    named_graphs,
    problems,
    query_changes,
    saved_queries,
    sparql,
    telemetry,
    twin,
    virtual,
    why,
)
from api.access import login
from api.access.cors import Cors
from api.access.cross_site import CrossSite
from api.access.headers import Headers
from api.access.hosts import Hosts
from api.access.prefix import Prefix
from api.access.read_access import ReadAccess
from api.access.roles import SCHEME
from api.access.scoped import refuse_unscoped
from api.benchmarks import results as benchmark_results
from api.benchmarks import roofline
from api.cgroups.watch import follow_cgroups
from api.compression import Compression
from api.conditional import ConditionalGet
from api.dashboards import live
from api.dashboards import routes as dashboards
from api.dashboards import series as panel_series
from api.datasets import routes as datasets
from api.drawing import load as drawing_load
from api.drawing import routes as drawing
from api.explorer import routes as explorer
from api.history import routes as history
from api.in_flight import InFlight
from api.known_answers import KnownAnswers
from api.mcp import routes as mcp
from api.observations.parts import PARTS as OBSERVATIONS
from api.parameters import refuse_undeclared
from api.pin import routes as pin
from api.plans import changes as plan_changes
from api.plans import routes as plans
from api.processes import routes as processes
from api.processes.watch import follow
from api.samples import changes as sample_changes
from api.samples import routes as samples
from api.samples.unfinished import finish
from api.services import make_services
from api.version import supertwin_version
from api.vocabulary import routes as vocabulary
from api.web import assets, documents, editor, index, reference
from api.web.problem_page import draw_problem
from core.settings.settings import Settings
from ontology.load import context, ontology_graph
from queries.catalogue import load_catalogue

_DESCRIPTION = """A semantic digital twin of HPC machines: SPARQL over the description
of every component, and an IRI for each, down to the last value of a series.

Changes need a token (`supertwin token add`), and so does reading if
`SUPERTWIN_READ_ACCESS` requires it.

Errors are RFC 9457 problem documents (`application/problem+json`)."""

_PARTS = (
    assets,
    administration,
    index,
    login,
    sparql,
    datasets,
    named_graphs,
    query_changes,
    saved_queries,
    mcp,
    telemetry,
    samples,
    sample_changes,
    virtual,
    drawing,
    drawing_load,
    editor,
    documents,
    reference,
    explorer,
    history,
    exports,
    vocabulary,
    # Before the components, because their path also matches these.
    processes,
    host_list,
    twin,
    roofline,
    benchmark_results,
    pin,
    plans,
    plan_changes,
    *OBSERVATIONS,
    why,
    health,
    dashboards,
    panel_series,
    live,
)


def create_app(settings: Settings) -> FastAPI:
    """Create the application for these settings; connections open on first use."""
    services = make_services(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        # Load these at the start, so that errors show before the first request.
        load_catalogue()
        context()
        ontology_graph()
        services.authenticator.open_to_owner()
        following = [
            asyncio.create_task(follow(services)),
            asyncio.create_task(follow_cgroups(services)),
            asyncio.create_task(services.runs.maintain()),
            asyncio.create_task(finish(services)),
        ]
        yield
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        await services.aclose()

    secured = [] if settings.reads_are_open else [Security(SCHEME)]
    app = FastAPI(
        title="SuperTwin",
        version=supertwin_version(),
        description=_DESCRIPTION,
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[*secured, Depends(refuse_undeclared), Depends(refuse_unscoped)],
        responses={"4XX": problems.RESPONSE, "5XX": problems.RESPONSE},
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.services = services
    problems.install(app, draw_problem)
    for part in _PARTS:
        app.include_router(part.router)
    # Middleware that is added later sees a request earlier.
    app.add_middleware(Compression)
    app.add_middleware(KnownAnswers, version=services.version)
    app.add_middleware(ConditionalGet)
    app.add_middleware(HeadAsGet)
    app.add_middleware(
        ReadAccess, authenticator=services.authenticator, settings=settings
    )
    app.add_middleware(CrossSite, origins=settings.origins)
    app.add_middleware(Cors, origins=settings.origins)
    app.add_middleware(Hosts, settings=settings)
    app.add_middleware(Headers)
    app.add_middleware(InFlight)
    app.add_middleware(Prefix, path=urlsplit(settings.base).path)
    return app


class HeadAsGet:
    """Answers HEAD like GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        # Endless streams check this, because the client does not want their body.
        await self._app({**scope, "method": "GET", "head": True}, receive, send_head)
