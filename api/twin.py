"""Every IRI of the twin and of its catalogues as JSON-LD, Turtle or HTML."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Request, Response
from rdflib import URIRef

from api import formats, nodes, rdf
from api.access.scoped import scoped
from api.connection import while_connected
from api.explorer.graph import kind_of
from api.explorer.page import node_page
from api.extents import (
    FRAMES,
    Depth,
    HostFrame,
    describe_frame,
    describe_parts,
)
from api.known_answers import depends_only_on
from api.nodes import Node
from api.parameters import TIMES, declared
from api.services import Services, Use
from api.sparql import response
from api.threads import computed
from core.errors import ApiError, NotFoundError, SuperTwinError, api_error
from ontology.iris import IdError, decode_id, encode_id
from ontology.load import context
from queries.hosts import known_hosts, unknown_host

router = APIRouter(tags=["Twin"])

_WHAT = "This is served as RDF and HTML"
# Kinds that the current twin may lack but the history has. Removed components are not
# served from the history: they would look as if they still existed.
_PAST = {"state", "probe", "tool", "toolset"}

Segment = Annotated[
    str,
    Path(description="An id; characters outside [A-Za-z0-9_.-] are written ~HH"),
]
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Description of the node",
        "content": {media_type: {} for media_type in formats.NODES},
    },
    404: {"description": "Not in the twin; the detail names what is missing"},
    406: {"description": "No acceptable media type"},
}
FORMAT = declared(
    "format",
    "Overrides `Accept`, for links in a browser",
    {"type": "string", "enum": [*formats.NODE_FORMATS]},
)
OPTIONS: dict[str, Any] = {
    "responses": _ANSWERS,
    "response_class": Response,
    "openapi_extra": {"parameters": [FORMAT]},
}
# For a page with charts.
_CHART_HOST = declared(
    "host", "Host for the series of the page; default: this machine", {"type": "string"}
)


@router.get("/context.jsonld", summary="The JSON-LD context", response_class=Response)
@scoped
async def context_document() -> Response:
    """The context that every JSON-LD answer refers to."""
    document = orjson.dumps(context())
    headers = {"Content-Type": formats.JSON_LD, "Cache-Control": "max-age=3600"}
    return Response(document, headers=headers)


@router.get("/twin/{host}", summary="A host", **OPTIONS)
@scoped
async def host(
    request: Request,
    services: Use,
    host: Segment,
    frame: HostFrame = "",
    depth: Depth = 0,
) -> Response:
    """All facts of a host, with its direct parts."""
    iri = services.iris.host(decoded(host))
    if frame:
        refuse_both(frame, depth)
        return await framed(request, services, iri, frame)
    return await _answer(request, services, iri, depth=depth)


@router.get(
    "/twin/{host}/{kind}/{id}",
    summary="A component",
    **OPTIONS,
)
@scoped
async def component(
    request: Request,
    services: Use,
    host: Segment,
    kind: Segment,
    id: Segment,
    depth: Depth = 0,
) -> Response:
    """Any part of a host: a thread, a cache, a disk, a plan, a probe."""
    iri = services.iris.component(decoded(host), decoded(kind), decoded(id))
    return await _answer(request, services, iri, host=decoded(host), depth=depth)


@router.get(
    "/twin/{host}/instance/{domain}/{instance}",
    summary="An instance of a metric",
    **OPTIONS,
)
@scoped
async def metric_instance(
    request: Request, services: Use, host: Segment, domain: Segment, instance: Segment
) -> Response:
    """One instance of an instance domain on a host, with its component."""
    name = decoded(host)
    iri = services.iris.metric_instance(name, decoded(domain), decoded(instance))
    return await _answer(request, services, iri, host=name)


@router.get(
    "/metric/{name}",
    summary="A metric",
    tags=["Catalogue"],
    **{**OPTIONS, "openapi_extra": {"parameters": [FORMAT, _CHART_HOST, *TIMES]}},
)
@scoped
async def metric(request: Request, services: Use, name: Segment) -> Response:
    """A metric of the shared catalogue: semantics, unit, instance domain."""
    plain, marker, variant = name.partition("~~")
    iri = services.iris.metric(decoded(plain))
    if marker:
        iri = services.iris.metric(decoded(plain), encode_id(decoded(variant)))
    return await _answer(request, services, iri)


@router.get("/indom/{id}", summary="An instance domain", tags=["Catalogue"], **OPTIONS)
@scoped
async def indom(request: Request, services: Use, id: Segment) -> Response:
    """An instance domain, with the metrics that have it."""
    return await _answer(request, services, services.iris.instance_domain(decoded(id)))


@router.get("/pmu/{pmu}", summary="A PMU model", tags=["Catalogue"], **OPTIONS)
@scoped
async def pmu(request: Request, services: Use, pmu: Segment) -> Response:
    """A model of performance monitoring unit, with its events."""
    return await _answer(request, services, services.iris.pmu(decoded(pmu)))


@router.get("/pmu/{pmu}/{event}", summary="A PMU event", tags=["Catalogue"], **OPTIONS)
@scoped
async def pmu_event(
    request: Request, services: Use, pmu: Segment, event: Segment
) -> Response:
    """An event that a PMU model counts, with its unit masks."""
    iri = services.iris.pmu_event(decoded(pmu), decoded(event))
    return await _answer(request, services, iri)


@router.get("/role/{role}", summary="A role", tags=["Catalogue"], **OPTIONS)
@scoped
async def role(request: Request, services: Use, role: Segment) -> Response:
    """A role, which any processor may measure, with each model's formula."""
    return await _answer(request, services, services.iris.role(decoded(role)))


@router.get("/role/{role}/{pmu}", summary="A formula", tags=["Catalogue"], **OPTIONS)
@scoped
async def role_formula(
    request: Request, services: Use, role: Segment, pmu: Segment
) -> Response:
    """How a PMU model measures a role, or why it cannot."""
    iri = services.iris.role_formula(decoded(role), decoded(pmu))
    return await _answer(request, services, iri)


@router.get("/agent/{name}", summary="An agent", tags=["Observations"], **OPTIONS)
@scoped
async def agent(request: Request, services: Use, name: Segment) -> Response:
    """The requester of a run, or the software that observed it."""
    return await _answer(request, services, services.iris.agent(decoded(name)))


def accepted(request: Request) -> str:
    """Return the media type to serve a node in; raises NotAcceptableError."""
    return formats.requested(request, formats.NODE_FORMATS, formats.NODES, _WHAT)


def decoded(segment: str) -> str:
    """Decode the id in a path segment; raises NotFoundError with the right form."""
    try:
        return decode_id(segment)
    except IdError:
        raise NotFoundError("no-such-id", "Not an id", _id_hint(segment)) from None


async def node_response(
    request: Request, services: Services, node: Node, media_type: str
) -> Response:
    """Return a node in the negotiated media type."""
    if media_type == formats.HTML:
        return await while_connected(request, node_page(request, services, node))
    return await written(services, node, media_type)


async def described(
    request: Request, services: Services, iri: URIRef, unknown: SuperTwinError
) -> Response:
    """Return the node with an IRI; raises ``unknown`` if nothing is stated of it."""
    media_type = accepted(request)
    node = await while_connected(request, nodes.describe(services.graph, iri))
    if not node.known:
        raise api_error(unknown)
    return await node_response(request, services, node, media_type)


async def framed(
    request: Request,
    services: Services,
    iri: URIRef,
    name: str,
    unknown: SuperTwinError | None = None,
) -> Response:
    """Return a node in a frame; raises ``unknown`` if nothing is stated of it."""
    frame, what = FRAMES[name], "a frame is served as JSON-LD"
    offers = (formats.JSON_LD, formats.JSON)
    media_type = formats.requested(request, formats.NODE_FORMATS, offers, what)
    node = await while_connected(request, describe_frame(services.graph, iri, frame))
    if not node.known:
        raise api_error(unknown) if unknown else await _unknown(services, iri, "")
    depends_only_on(request, node.version)
    base = services.settings.base
    body = await computed(rdf.nested_json_ld, node, base, frame.links)
    return response(body, media_type, cut=node.cut)


def refuse_both(frame: str, depth: int) -> None:
    """Raise ApiError if a frame and a depth are given: a frame has its own."""
    if frame and depth:
        detail = f"frame={frame} and depth={depth} exclude each other; send one of them"
        raise ApiError(400, "frame-and-depth", "Both a frame and a depth", detail)


async def _answer(
    request: Request,
    services: Services,
    iri: URIRef,
    *,
    host: str = "",
    depth: int = 0,
) -> Response:
    if depth:
        what = "a component with its parts is served as RDF"
        offers = formats.NODES_AS_RDF
        media_type = formats.requested(request, formats.NODE_FORMATS, offers, what)
    else:
        media_type = accepted(request)
    node = await while_connected(request, nodes.describe(services.graph, iri))
    if not node.known and host and kind_of(iri) in _PAST:
        node = await while_connected(request, nodes.describe(services.history, iri))
        node.version = ""
    if not node.known:
        raise await _unknown(services, iri, host)
    if depth:
        work = describe_parts(services.graph, iri, depth)
        _add(node, await while_connected(request, work))
    if media_type != formats.HTML:
        depends_only_on(request, node.version)
    return await node_response(request, services, node, media_type)


def _add(node: Node, parts: Node) -> None:
    for triple in parts.graph:
        node.graph.add(triple)
    node.cut += parts.cut
    if node.version != parts.version:
        node.version = ""


async def written(services: Services, node: Node, media_type: str) -> Response:
    """Return a node in an RDF media type."""
    body = await rdf.document(node, services.settings.base, media_type)
    return response(body, media_type, cut=node.cut)


async def _unknown(services: Services, iri: URIRef, host: str) -> ApiError:
    if not host:
        detail = f"the twin says nothing about {iri}; /twin lists the hosts"
        return NotFoundError("not-in-twin", "Not in the twin", detail)
    known = await known_hosts(services.graph)
    if (services.iris.host(host), None, None) not in known:
        return unknown_host(host, known)
    detail = (
        f"host {host!r} is known, but has no {_below(services, iri, host)}; "
        f"{services.iris.host(host)} lists its parts"
    )
    return NotFoundError("unknown-component", "Unknown component", detail)


def _below(services: Services, iri: URIRef, host: str) -> str:
    return str(iri).removeprefix(f"{services.iris.host(host)}/")


def _id_hint(segment: str) -> str:
    try:
        meant = encode_id(segment)
    except (IdError, UnicodeError):
        meant = ""
    hint = f"; did you mean {meant!r}?" if 0 < len(meant) <= 200 else ""
    rule = "ids write characters outside [A-Za-z0-9_.-] as ~HH"
    return f"{segment[:200]!r} is not an id: {rule}{hint}"
