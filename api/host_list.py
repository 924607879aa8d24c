"""``/twin``: all hosts."""

from fastapi import APIRouter, Request, Response
from rdflib import Graph, URIRef
from rdflib.namespace import RDFS

from api import formats
from api.access.scoped import scoped
from api.connection import while_connected
from api.nodes import Node
from api.paging import Paged
from api.services import Services, Use
from api.twin import OPTIONS, accepted, written
from api.web import pages
from ontology.terms import ST
from queries.hosts import hosts_on_page
from queries.natural_order import natural

router = APIRouter(tags=["Twin"])


@router.get("/twin", summary="All hosts", **OPTIONS)
@scoped
async def twin(request: Request, services: Use, page: Paged) -> Response:
    """Every host with its operating system and processor; pages are by IRI."""
    media_type = accepted(request)
    work = hosts_on_page(services.graph, page.limit, page.offset)
    graph, is_followed = await while_connected(request, work)
    if media_type == formats.HTML:
        made = _hosts_page(request, services, graph)
    else:
        made = await written(services, Node(URIRef(""), graph), media_type)
    page.link(made, request, is_followed=is_followed)
    return made


def _hosts_page(request: Request, services: Services, graph: Graph) -> Response:
    base = services.settings.base
    made = pages.links(request, base)
    hosts = [
        {
            "iri": str(iri),
            "href": made.href(str(iri)),
            "name": str(graph.value(iri, RDFS.label) or made.short(str(iri))),
            "cpu": str(graph.value(iri, ST.cpuModel) or ""),
            "os": str(graph.value(iri, ST.osName) or ""),
            "kernel": str(graph.value(iri, ST.kernelRelease) or ""),
        }
        for iri in set(graph.subjects())
    ]
    hosts.sort(key=lambda shown: natural(shown["name"]))
    return pages.page("hosts.html", request, base, title="Hosts", hosts=hosts)
