"""The stores and other services that routes use, created once per application."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from api.access.audit import RefusalLog
from api.access.authenticator import Authenticator
from api.access.visible_groups import visible_groups
from api.dashboards.feeds import Feeds
from api.dashboards.ranges import PanelReader
from api.dashboards.specs import DashboardCache
from api.datasets.counts import GraphCounts
from api.datasets.graph_version import GraphVersion
from api.mcp.service import McpService
from api.observations.run_manager_service import RunManagerService
from api.query_queue import QueryQueue
from core.settings.accounts import fuseki_account, store_read_account
from core.settings.settings import Settings
from core.stores.connections import Connections
from core.stores.fuseki import GraphStore
from core.stores.series_store import SeriesStore
from ontology.iris import Iris
from queries.added import QueryCatalogue

OWN_TIMEOUT = 10.0
_STORE_CONNECTIONS = 64


@dataclass(frozen=True)
class Services:
    """The stores and names of one application.

    ``sparql`` runs queries of clients, ``graph`` those of the API itself, and
    ``history`` those about the past. Each has its own connections, so that slow queries
    do not delay pages. Those of clients wait in ``queue``.
    """

    settings: Settings
    authenticator: Authenticator
    refusals: RefusalLog
    iris: Iris
    sparql: GraphStore
    graph: GraphStore
    history: GraphStore
    queries: QueryCatalogue
    store: SeriesStore
    bridge_state: Path
    reader: PanelReader
    specs: DashboardCache
    feeds: Feeds
    runs: RunManagerService
    queue: QueryQueue
    version: GraphVersion
    twin_counts: GraphCounts
    history_counts: GraphCounts
    mcp: McpService

    async def aclose(self) -> None:
        """Close all connections, and log the refusals that are still pending."""
        self.refusals.flush()
        await self.mcp.aclose()
        graphs = (self.sparql, self.graph, self.history)
        for client in (*(graph.client for graph in graphs), self.store.client):
            await client.aclose()


def make_services(settings: Settings) -> Services:
    """Create the services for these settings; opens no connection yet."""
    root, limit = settings.fuseki.rstrip("/"), settings.query_max_bytes
    url = f"{root}/twin"
    own = min(OWN_TIMEOUT, settings.query_timeout)
    account = fuseki_account(settings)
    iris = Iris(settings.base)
    graph = GraphStore(Connections(account), url, own, limit)
    history = GraphStore(
        Connections(account), f"{root}/history", settings.query_timeout, limit
    )
    connections = Connections(
        store_read_account(settings), _STORE_CONNECTIONS, keep_s=5
    )
    store = SeriesStore(
        connections,
        settings.store_read,
        settings.retention,
        partial(visible_groups, graph),
    )
    queries = QueryCatalogue(settings.queries)
    reader, specs = (
        PanelReader(store, settings.query_timeout),
        DashboardCache(graph, iris, settings, queries),
    )
    return Services(
        settings=settings,
        authenticator=Authenticator(settings),
        refusals=RefusalLog(settings.home),
        iris=iris,
        sparql=GraphStore(Connections(account), url, settings.query_timeout, limit),
        graph=graph,
        history=history,
        queries=queries,
        store=store,
        bridge_state=settings.home / "bridge",
        reader=reader,
        specs=specs,
        feeds=Feeds(reader, specs),
        runs=RunManagerService(settings),
        queue=QueryQueue(settings.query_timeout),
        version=GraphVersion(graph),
        twin_counts=GraphCounts(graph),
        history_counts=GraphCounts(GraphStore(history.client, history.url, own, limit)),
        mcp=McpService(settings.base),
    )


# FastAPI would run a plain function in a thread, for each request.
async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Use = Annotated[Services, Depends(_services)]
