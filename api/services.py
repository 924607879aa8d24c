"""What every route works with, made once per application."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
from fastapi import Depends, Request

from api import fuseki
from api.fuseki import GraphStore
from api.store import SeriesStore
from ontology.iris import Iris
from supertwin.settings import Settings

OWN_TIMEOUT = 10.0


@dataclass(frozen=True)
class Services:
    """The stores and names of one application.

    ``sparql`` runs what clients wrote, ``graph`` what the API itself asks: each has its
    own connections, so that slow queries keep no page of the twin waiting.
    """

    settings: Settings
    iris: Iris
    sparql: GraphStore
    graph: GraphStore
    store: SeriesStore
    bridge_status: Path

    async def aclose(self) -> None:
        """Close every connection."""
        for client in (self.sparql.client, self.graph.client, self.store.client):
            await client.aclose()


def make_services(settings: Settings) -> Services:
    """Services for these settings; opens nothing yet."""
    url, limit = f"{settings.fuseki.rstrip('/')}/twin", settings.query_max_bytes
    own = min(OWN_TIMEOUT, settings.query_timeout)
    return Services(
        settings=settings,
        iris=Iris(settings.base),
        sparql=GraphStore(fuseki.client(), url, settings.query_timeout, limit),
        graph=GraphStore(fuseki.client(), url, own, limit),
        store=SeriesStore(_store_client(), settings.store_read, settings.retention),
        bridge_status=settings.home / "bridge" / "status.json",
    )


def _store_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=httpx.Timeout(5), trust_env=False)


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Use = Annotated[Services, Depends(_services)]
