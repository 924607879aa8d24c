"""Recorded runs, their parts, baselines and models, at their own IRIs."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import RedirectResponse
from rdflib import RDF, Graph, Literal, URIRef

from api import formats, nodes
from api.access.scoped import scoped
from api.connection import while_connected
from api.extents import RunFrame
from api.nodes import Node
from api.observations.measured import observation_of, runs_of_group, unknown
from api.observations.record_page import record_page
from api.services import Services, Use
from api.twin import (
    OPTIONS,
    Segment,
    accepted,
    decoded,
    described,
    framed,
    node_response,
)
from observations.errors import UnknownRunError
from ontology.terms import ST

router = APIRouter(tags=["Observations"])


@router.get("/observation/{id}", summary="A recorded run", **OPTIONS)
@scoped
async def observation(
    request: Request, services: Use, id: Segment, frame: RunFrame = ""
) -> Response:
    """Request, outcome, resource usage and measurements of a run.

    The id of a group of repetitions gives its runs; a browser gets a list of them.
    """
    iri = observation_of(services.iris, decoded(id))
    if frame:
        return await framed(request, services, iri, frame)
    media_type = accepted(request)
    node = await while_connected(request, nodes.describe(services.graph, iri))
    if (iri, RDF.type, ST.ObservationInterface) not in node.graph:
        return await _group(request, services, iri, decoded(id), media_type)
    if media_type == formats.HTML:
        work = record_page(request, services, decoded(id), node)
        return await while_connected(request, work)
    return await node_response(request, services, node, media_type)


@router.get(
    "/observation/{id}/{path:path}", summary="Part of a recorded run", **OPTIONS
)
@scoped
async def part(
    request: Request,
    services: Use,
    id: Segment,
    path: Annotated[str, Path(description="`surroundings`, `summary/METRIC/INSTANCE`")],
) -> Response:
    """The environment of a run, or the statistics of one of its series."""
    segments = [decoded(segment) for segment in path.split("/")]
    iri = services.iris.observation_part(decoded(id), *segments)
    return await _part(request, services, iri)


@router.get("/baseline/{name}", summary="Baseline runs", **OPTIONS)
@scoped
async def baseline(request: Request, services: Use, name: Segment) -> Response:
    """A baseline with its runs."""
    return await _part(request, services, services.iris.baseline(decoded(name)))


@router.get("/model/{host}/{tag}", summary="A model of the runtime", **OPTIONS)
@scoped
async def model(
    request: Request, services: Use, host: Segment, tag: Segment
) -> Response:
    """Formula, terms, inputs and runs of a model, and its error."""
    return await _model(request, services, host, tag)


@router.get("/model/{host}/{tag}/{kind}/{name}", summary="Part of a model", **OPTIONS)
@scoped
async def model_part(
    request: Request,
    services: Use,
    host: Segment,
    tag: Segment,
    kind: Annotated[str, Path(description="`term` or `input`")],
    name: Segment,
) -> Response:
    """A term of a model, or an input with the range in which it was measured."""
    return await _model(request, services, host, tag, kind, name)


async def _model(request: Request, services: Services, *path: str) -> Response:
    host, tag, *part = map(decoded, path)
    return await _part(request, services, services.iris.model(host, tag, *part))


async def _group(
    request: Request, services: Services, iri: URIRef, id_: str, media_type: str
) -> Response:
    runs = await while_connected(request, runs_of_group(services, id_))
    if not runs:
        raise unknown(id_)
    if media_type == formats.HTML:
        root = request.scope.get("root_path", "").rstrip("/")
        place = f"{root}/observations?{urlencode({'group': id_})}"
        return RedirectResponse(place, 303, headers={"Vary": "Accept"})
    graph = Graph()
    for run in runs:
        node = URIRef(str(run["run"]))
        graph.add((node, RDF.type, ST.ObservationInterface))
        graph.add((node, ST.runGroup, Literal(id_)))
        graph.add((node, ST.repetition, Literal(run["repetition"])))
    return await node_response(request, services, Node(iri, graph), media_type)


async def _part(request: Request, services: Services, iri: URIRef) -> Response:
    unknown = f"nothing is recorded as {iri}; /observations lists the runs that are"
    return await described(request, services, iri, UnknownRunError(unknown))
