"""The page of one IRI: its place, its facts, its telemetry, all its triples."""

import asyncio
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from rdflib import URIRef
from rdflib.namespace import RDFS

from api.dashboards.charts import find_chart
from api.explorer.facts import find_class, find_facts
from api.explorer.graph import (
    KINDS,
    ComponentPath,
    ComponentSummary,
    Sharing,
    find_place,
    kind_of,
)
from api.explorer.running import RunningProcess, find_running
from api.explorer.series import OtherSeries, find_others, find_sampled
from api.nodes import Node
from api.services import Services
from api.web import pages
from api.web.pages import Links, RenderedTerm
from dashboards.spec import Dashboard
from dashboards.units import drawn_unit, quantity
from ingest.hwloc.topology_file import topology_path
from ontology.iris import IdError, decode_id
from ontology.terms import PROV, ST
from queries.catalogue import saved_query
from queries.diagnosis import of_host, read_known

_BYTES = drawn_unit("BYTE")[0]
_NO_TELEMETRY: dict[str, Any] = {"sampled": [], "others": [], "silence": ""}


@dataclass(frozen=True)
class PartGroup:
    """Parts of one kind, with the plural as title."""

    title: str
    parts: tuple[RenderedTerm, ...]


@dataclass(frozen=True)
class Shared:
    """A cache or NUMA domain, and the other threads that use it."""

    what: RenderedTerm
    others: tuple[RenderedTerm, ...]


async def node_page(request: Request, services: Services, node: Node) -> Response:
    """Return the node as HTML; outside a hierarchy, only its facts and triples."""
    made = pages.links(request, services.settings.base)
    host = host_of(services, node.iri)
    running = find_running(node.graph, node.iri, made)
    place, telemetry = ComponentPath(), _NO_TELEMETRY
    if host:
        place, telemetry = await asyncio.gather(
            find_place(services.graph, host, node.iri),
            _telemetry(services, host, node.iri, running),
        )
    standing = _hierarchy(services, place, host, node.iri, made)
    if place.path and not telemetry["sampled"] and not telemetry["others"]:
        telemetry = telemetry | {
            "silence": await _reason_without_series(services, host, node.iri)
        }
    if running:
        standing["crumbs"] = [running.host]
    host_parameter = request.query_params.get("host", "")
    return pages.page(
        "node.html",
        request,
        services.settings.base,
        title=str(node.graph.value(node.iri, RDFS.label) or made.short(str(node.iri))),
        iri=str(node.iri),
        class_=find_class(node.graph, node.iri, made),
        cut=node.cut,
        facts=find_facts(node.graph, node.iri, made),
        running=running,
        chart=await _chart(services, node, host, host_parameter),
        host_iri=host,
        **standing,
        **telemetry,
        **pages.triples(node, made),
    )


async def _chart(
    services: Services, node: Node, host: str, host_parameter: str
) -> Dashboard | None:
    """Return the chart of a series, or of a metric's series on the requested host."""
    metric = node.graph.value(node.iri, ST.samplerName)
    if name := node.graph.value(node.iri, ST.virtualName):
        return await _chart_of_virtual(services, node, str(name))
    if metric is None:
        return None
    instance = node.graph.value(node.iri, ST.instname)
    if host and instance is not None:
        return await find_chart(services, host, "series", str(metric), str(instance))
    wanted = host or host_parameter or services.settings.host
    return await find_chart(services, wanted, "metric", str(metric))


async def _chart_of_virtual(
    services: Services, node: Node, name: str
) -> Dashboard | None:
    """Return the chart of virtual telemetry, as it is drawn for any host of it."""
    inputs = node.graph.objects(node.iri, PROV.wasDerivedFrom)
    hosts = sorted(filter(None, (host_of(services, URIRef(str(i))) for i in inputs)))
    host = hosts[0] if hosts else services.settings.host
    return await find_chart(services, host, "virtual", name)


def _hierarchy(
    services: Services, place: ComponentPath, host: str, iri: URIRef, made: Links
) -> dict[str, Any]:
    """Return the node's place: what contains it, its parts, and what it shares."""
    path = [_shown(part, made) for part in place.path]
    return {
        "path": path,
        "crumbs": path[:-1],
        "below": [_counted(kind, count) for kind, count in place.below.items()],
        "groups": _groups(place, made),
        "caches": _shared(place, place.caches, services, host, made),
        "domains": _shared(place, place.domains, services, host, made),
        "host": host if path else "",
        "drawing": _drawing(services, host, iri) if path else "",
    }


async def _telemetry(
    services: Services, host: str, iri: URIRef, running: RunningProcess | None
) -> dict[str, Any]:
    """Return the sampled series, and those that could be sampled."""
    sampled, others = await asyncio.gather(
        find_sampled(services.graph, iri), _others(services, host, iri)
    )
    known = {one.telemetry for one in sampled}
    offered = running.series if running else others
    unsampled = [other for other in offered if other.telemetry not in known]
    return {"sampled": sampled, "others": unsampled, "silence": ""}


async def _others(services: Services, host: str, iri: URIRef) -> list[OtherSeries]:
    """Return the series that could be sampled; a whole host has thousands, so none."""
    if kind_of(iri) == "host":
        return []
    return await find_others(services.graph, services.iris, host, iri)


async def _reason_without_series(services: Services, host: str, iri: URIRef) -> str:
    """Say why a component has no series; empty if this is normal."""
    text = saved_query("why/no-data").bind({"host": host})
    known = read_known(await services.graph.select(text))
    found = of_host(known, host)
    if found:
        return found.reason
    return "no plan samples this host" if kind_of(iri) == "host" else ""


def host_of(services: Services, iri: URIRef) -> str:
    """Return the host that an IRI belongs to; empty if there is none."""
    start = f"{services.settings.base.rstrip('/')}/twin/"
    if not iri.startswith(start):
        return ""
    try:
        return decode_id(iri.removeprefix(start).partition("/")[0])
    except IdError:
        return ""


def _shown(part: ComponentSummary, links: Links) -> RenderedTerm:
    return RenderedTerm(part.label, links.href(part.iri), part.iri)


def _counted(kind: str, count: int) -> str:
    one, many = KINDS.get(kind, (kind, kind))
    return f"{count} {one if count == 1 else _lower(many)}"


def _lower(text: str) -> str:
    """Lower the first letter; NUMA and GPUs stay upper case."""
    return text if text[:2].isupper() else text[0].lower() + text[1:]


def _groups(place: ComponentPath, links: Links) -> list[PartGroup]:
    kinds = dict.fromkeys(part.kind for part in place.parts)
    return [
        PartGroup(
            KINDS.get(kind, (kind, kind.capitalize()))[1],
            tuple(_sized(p, links) for p in place.parts if p.kind == kind),
        )
        for kind in kinds
    ]


def _sized(part: ComponentSummary, links: Links) -> RenderedTerm:
    size = f", {quantity(part.size, _BYTES)}" if part.size else ""
    return RenderedTerm(part.label + size, links.href(part.iri), part.iri)


def _shared(
    place: ComponentPath,
    found: tuple[Sharing, ...],
    services: Services,
    host: str,
    links: Links,
) -> list[Shared]:
    """List all threads of a cache or domain itself; otherwise those of others."""
    own = place.path[-1].iri if place.path else ""
    return [
        Shared(
            RenderedTerm(one.label, links.href(one.iri), one.iri),
            tuple(
                _thread(services, host, cpu, links)
                for cpu in one.threads
                if one.iri == own or cpu not in place.threads
            ),
        )
        for one in found
    ]


def _thread(services: Services, host: str, cpu: int, links: Links) -> RenderedTerm:
    iri = str(services.iris.component(host, "thread", str(cpu)))
    return RenderedTerm(str(cpu), links.href(iri), iri)


def _drawing(services: Services, host: str, iri: URIRef) -> str:
    """Return the path of the drawing with this component marked; empty if absent."""
    try:
        kept = topology_path(services.settings.home, host).is_file()
    except (IdError, OSError):
        kept = False
    if not kept:
        return ""
    node = services.iris.host(host).removeprefix(services.settings.base.rstrip("/"))
    return f"{node}/drawing?mark={quote(iri, safe='')}"
