"""``/twin/{host}/drawing``: the machine as lstopo draws it, with links."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup
from rdflib import URIRef

from api import formats
from api.connection import while_connected
from api.drawing.boxes import Box, find_boxes
from api.drawing.svg import Link, Picture, best_fit, read_picture, write_picture
from api.negotiation import negotiate
from api.services import Services, Use
from api.twin import Segment, decoded
from api.web import pages
from core.errors import ApiError, NotFoundError
from core.stores.fuseki import Row
from ingest.errors import ProbeSourceError, SourceMissingError
from ingest.hwloc.lstopo import sketch
from ingest.hwloc.read import MAX_DRAWN
from ingest.hwloc.topology_file import topology_path
from ingest.sources.files import read_file
from ontology.terms import PREFIXES
from queries.hosts import known_hosts, unknown_host
from queries.terms import iri_term

router = APIRouter(tags=["Twin"])

SVG = "image/svg+xml"
_KEPT = 16
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The drawing", "content": {SVG: {}, formats.HTML: {}}},
    404: {"description": "No such host, or its topology is not stored here"},
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "Vary": "Accept",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
# Drawing keeps a CPU busy, and a second request can reuse the first one's result.
_ONE_AT_A_TIME = CapacityLimiter(1)


@dataclass(frozen=True)
class DrawingResponse:
    """One topology file, drawn: its shapes, and the component of each box."""

    picture: Picture
    boxes: dict[str, Box]


@router.get(
    "/twin/{host}/drawing",
    summary="Drawing of the machine",
    responses=_ANSWERS,
    response_class=Response,
)
async def drawing(
    request: Request,
    services: Use,
    host: Segment,
    mark: Annotated[str, Query(description="IRI of the component to mark")] = "",
) -> Response:
    """lstopo's drawing; each box that is a component has `data-iri` and `data-kind`.

    It is made from the topology that `supertwin ingest` kept under `SUPERTWIN_HOME`.
    """
    accept = request.headers.getlist("accept")
    what = "the drawing is served as SVG and HTML"
    media_type = negotiate(accept, (SVG, formats.HTML), what)
    name = decoded(host)
    work = _drawn(request, services, name, mark, alone=media_type == SVG)
    svg = await while_connected(request, work)
    if media_type == SVG:
        return Response(svg, headers=_HEADERS, media_type=SVG)
    return pages.page(
        "explorer_drawing.html",
        request,
        services.settings.base,
        title=f"{name}, drawn",
        host=name,
        host_iri=str(services.iris.host(name)),
        svg=Markup(svg),  # noqa: S704
    )


async def _drawn(
    request: Request, services: Services, host: str, mark: str, *, alone: bool
) -> str:
    known = await _components(services, host)
    if not known:
        raise unknown_host(host, await known_hosts(services.graph))
    path = topology_path(services.settings.home, host)
    drawn = await to_thread.run_sync(_draw, path, host, limiter=_ONE_AT_A_TIME)
    made = pages.links(request, services.settings.base)

    def link(name: str) -> Link | None:
        return _link(services, host, drawn.boxes.get(name), known, made)

    return write_picture(drawn.picture, link, host, mark=mark, alone=alone)


async def _components(services: Services, host: str) -> dict[str, Row]:
    """Return the graph's rows on a host's components, by IRI; empty if unknown."""
    graph = iri_term(services.iris.twin_graph(host))
    node = iri_term(services.iris.host(host))
    rows = await services.graph.rows(
        f"PREFIX st: <{PREFIXES['st']}> PREFIX rdfs: <{PREFIXES['rdfs']}>\n"
        f"SELECT ?s ?label ?allowed {{ GRAPH {graph} {{ "
        f"{{ ?s st:isPartOf ?p }} UNION {{ {node} st:hostname ?n BIND ({node} AS ?s) }}"
        f" OPTIONAL {{ ?s rdfs:label ?label }} OPTIONAL {{ ?s st:allowed ?allowed }}"
        f" }} }}"
    )
    return {row["s"].value: row for row in rows}


def _draw(path: Path, host: str) -> DrawingResponse:
    try:
        state = path.stat()
    except OSError:
        raise _no_drawing(host) from None
    try:
        return _read(path, state.st_mtime_ns, state.st_size)
    except SourceMissingError as error:
        raise ApiError(503, "no-lstopo", "Cannot be drawn here", str(error)) from None
    except ProbeSourceError as error:
        raise ApiError(502, "not-drawn", "Cannot be drawn", str(error)) from None


@lru_cache(maxsize=_KEPT)
def _read(path: Path, _changed_ns: int, _size: int) -> DrawingResponse:
    """Draw each version of the file once."""
    xml = read_file(path, MAX_DRAWN)
    made = sketch(xml)
    picture = best_fit([read_picture(svg) for svg in made.svgs])
    return DrawingResponse(picture, find_boxes(picture.shapes, made.xml, xml))


def _no_drawing(host: str) -> NotFoundError:
    detail = (
        f"no topology of host {host!r} is stored here: run `supertwin ingest` "
        f"on it, or `supertwin ingest --hwloc FILE --host {host}` here, where FILE is "
        "what `lstopo --of xml` writes on it"
    )
    return NotFoundError("no-drawing", "No drawing", detail)


def _link(
    services: Services,
    host: str,
    box: Box | None,
    known: dict[str, Row],
    links: pages.Links,
) -> Link | None:
    if box is None:
        return None
    kind, id_ = box
    iri = _iri(services, host, kind, id_)
    row = known.get(str(iri))
    if row is None:
        return None
    label = row["label"].value if "label" in row else f"{kind} {id_ or host}"
    return Link(
        iri=str(iri),
        kind=kind,
        href=links.href(str(iri)),
        label=label,
        off="allowed" in row and row["allowed"].value == "false",
        id=id_,
    )


def _iri(services: Services, host: str, kind: str, id_: str) -> URIRef:
    if kind == "host":
        return services.iris.host(host)
    return services.iris.component(host, kind, id_)
