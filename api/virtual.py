"""Virtual telemetry over HTTP: defined, listed, read as a node or as samples."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from rdflib import URIRef

from api import formats, nodes
from api.access import audit
from api.access.roles import ANSWERS, requires
from api.access.tokens import TokenRole
from api.body import read_model, schema_of
from api.connection import while_connected
from api.failures import answered
from api.nodes import Node
from api.samples.asked import SampleQuery, asks_for_samples
from api.samples.media_types import sample_type
from api.samples.options import TELEMETRY
from api.samples.read import sample_response
from api.services import Services, Use
from api.twin import accepted, node_response
from core.errors import ApiError, api_error
from core.settings.settings import Settings
from core.stores.datasets import dataset
from ontology.iris import IdError
from ontology.terms import PROV
from virtual_telemetry import definitions
from virtual_telemetry.definitions import VirtualRequest
from virtual_telemetry.errors import ComputedSamplesError, UnknownVirtualError
from virtual_telemetry.expression import LONGEST

router = APIRouter(tags=["Virtual telemetry"])

T = TypeVar("T")
_PATH = "/virtual/{name}"
_OPERATOR = requires(TokenRole.OPERATOR)
_MOST_BYTES = 64 * 1024
# Each looks up the inputs, which takes up to some seconds of one core.
_AT_ONCE = CapacityLimiter(2)
_METHODS = "DELETE, GET, PUT"

# Deletion of a span is not taken for the removal of the whole.
Span = Annotated[
    str | None, Query(alias="from", description="Refused: there are no stored samples")
]
Name = Annotated[str, Path(description="Name; a-z, 0-9 and -")]


class Definition(BaseModel):
    """How virtual telemetry is computed."""

    model_config = ConfigDict(extra="forbid")

    expression: str = Field(
        min_length=1,
        max_length=LONGEST,
        description="The expression, such as `<virtual/a> / <virtual/b>`",
    )
    unit: str = Field(
        default="",
        max_length=100,
        description="Local name of a unit in QUDT, such as KiloW, into which the "
        "values are converted; default: the unit that the expression gives",
    )
    label: str = Field(
        default="", max_length=200, description="Title; default: the name"
    )

    def request(self) -> VirtualRequest:
        """Return it as a request."""
        return VirtualRequest(self.expression, self.unit, self.label)


_CHANGED: dict[int | str, dict[str, Any]] = {
    **ANSWERS,
    400: {"description": "The detail says what is wrong"},
}
_BODY = {
    "required": True,
    "content": {formats.JSON: {"schema": schema_of(Definition)}},
}
_REFUSED: dict[str, Any] = {
    "responses": {405: {"description": "Its samples are computed, not stored"}},
}


@router.get(
    "/virtual",
    summary="All virtual telemetry",
    response_class=Response,
    responses={200: {"content": {formats.JSON: {}}}},
)
async def every(services: Use) -> Response:
    """Name, IRI, label, expression, unit and host of each, by name."""
    found = await _done(services.settings, definitions.every)
    listed = [one.document() for one in found]
    return Response(orjson.dumps(listed), media_type=formats.JSON)


@router.put(
    _PATH,
    summary="Define virtual telemetry",
    response_class=Response,
    responses={
        **_CHANGED,
        200: {"description": "Replaced", "content": {formats.JSON: {}}},
        201: {"description": "Added", "content": {formats.JSON: {}}},
        409: {"description": "Others compute with it, and could not any more"},
        413: {"description": "The body is too long"},
    },
    dependencies=[_OPERATOR],
    openapi_extra={"requestBody": _BODY},
)
async def put_virtual(request: Request, services: Use, name: Name) -> Response:
    """The expression and its units are checked; nothing is written if they are wrong.

    Role: operator.
    """
    given = await read_model(request, _MOST_BYTES, "virtual telemetry", Definition)
    settings = services.settings
    made, is_new = await _changed(
        lambda: definitions.add(settings, name, given.request(), lambda _: None)
    )
    audit.record(request, "virtual.added" if is_new else "virtual.changed", name)
    headers = {"Location": f"/virtual/{name}"} if is_new else {}
    body = orjson.dumps(made.document())
    status = 201 if is_new else 200
    return Response(body, status, headers=headers, media_type=formats.JSON)


@router.delete(
    _PATH,
    summary="Remove virtual telemetry",
    status_code=204,
    responses={
        **_CHANGED,
        404: {"description": "No virtual telemetry has this name"},
        409: {"description": "Other virtual telemetry has it as input"},
    },
    dependencies=[_OPERATOR],
)
async def delete_virtual(
    request: Request,
    services: Use,
    name: Name,
    from_: Span = None,
    to: Annotated[str | None, Query(description="Refused, like `from`")] = None,
) -> Response:
    """Its inputs and their samples stay. Role: operator."""
    if (from_, to) != (None, None):
        raise _computed()
    settings = services.settings
    await _changed(lambda: definitions.remove(settings, name, lambda _: None))
    audit.record(request, "virtual.removed", name)
    return Response(status_code=204)


@router.post(_PATH, summary="Import samples: refused", **_REFUSED)
async def import_samples(services: Use, name: Name) -> Response:
    """Raise an error: samples are computed."""
    await _done(services.settings, lambda twin: definitions.find(twin, name))
    raise _computed()


@router.get(_PATH, summary="Virtual telemetry, or its samples", **TELEMETRY)
async def virtual(request: Request, services: Use, name: Name) -> Response:
    """Expression, unit, inputs (`prov:wasDerivedFrom`) and host.

    With any of `from`, `to`, `step`, `fn`, `q` and `coverage`, the answer is samples,
    as of any telemetry.
    """
    if asks_for_samples(request):
        return await _samples(request, services, name)
    media_type = accepted(request)
    node = await while_connected(request, _described(services, name))
    return await node_response(request, services, node, media_type)


async def _samples(request: Request, services: Services, name: str) -> Response:
    media_type, call = sample_type(request), SampleQuery.of(request).call()
    found = await _done(services.settings, lambda twin: definitions.find(twin, name))
    return await sample_response(
        request, services, call, [found.iri], media_type, named=False
    )


async def _described(services: Services, name: str) -> Node:
    try:
        iri = services.iris.virtual(name)
    except IdError:
        raise _unknown(name) from None
    node = await nodes.describe(services.graph, iri)
    if not node.known:
        # It names those that there are.
        await _done(services.settings, lambda twin: definitions.find(twin, name))
    for row in await services.graph.rows(definitions.inputs_query(iri)):
        node.graph.add((iri, PROV.wasDerivedFrom, URIRef(row["input"].value)))
    return node


def _computed() -> ApiError:
    detail = (
        "samples of virtual telemetry are computed: import into its inputs, or delete "
        "spans of them"
    )
    return api_error(ComputedSamplesError(detail), headers={"Allow": _METHODS})


def _unknown(name: str) -> ApiError:
    return api_error(UnknownVirtualError(f"no virtual telemetry {name[:80]!r}"))


async def _done(settings: Settings, work: Callable[[Any], T]) -> T:
    """Query the graph in a thread; its errors become ApiErrors."""

    def read() -> T:
        with dataset(settings, "twin") as twin:
            return work(twin)

    with answered():
        return await to_thread.run_sync(read)


async def _changed(work: Callable[[], T]) -> T:
    with answered():
        return await to_thread.run_sync(work, limiter=_AT_ONCE)
