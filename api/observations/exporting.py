"""``/export/observation``: a recorded run in standard formats."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from rdflib import Graph, URIRef

from api import formats, rdf
from api.access.roles import ANSWERS, requires
from api.access.tokens import TokenRole
from api.connection import while_connected
from api.observations.measured import (
    STATISTICS,
    observation_of,
    runs_of_group,
    unknown,
)
from api.observations.search import rows
from api.services import Services, Use
from core.errors import ApiError, api_error
from core.stores.errors import TooManySamplesError
from observations.errors import ObservationError, UnknownRunError
from ontology.iris import IdError, decode_id, encode_id

if TYPE_CHECKING:
    from observations.exchange.export import ExportedRun

router = APIRouter(tags=["Observations"])

# All samples, and as many rows, are in memory at the same time.
_MOST_SAMPLES = 2_000_000
_ONE_AT_A_TIME = asyncio.Semaphore(1)
_TYPES = {
    "rocrate": ("application/zip", "crate.zip"),
    "csv": ("text/csv; charset=utf-8", "csv"),
    "jsonld": (formats.JSON_LD, "jsonld"),
    "perfetto": ("application/vnd.google.protobuf", "pftrace"),
}

Form = Literal["rocrate", "csv", "jsonld", "perfetto"]


@router.get(
    "/export/observation",
    summary="Export a recorded run",
    response_class=Response,
    responses={
        **ANSWERS,
        404: {"description": "No such run"},
        409: {"description": "More samples than a download may hold"},
    },
    dependencies=[requires(TokenRole.OPERATOR)],
)
async def export_observation(
    request: Request,
    services: Use,
    id_: Annotated[
        str,
        Query(alias="id", max_length=1000, description="Id or IRI of a run or group"),
    ],
    form: Annotated[
        Form,
        Query(
            alias="format",
            description="A Process Run Crate as a zip, its samples, its graph, or a "
            "trace for ui.perfetto.dev",
        ),
    ] = "rocrate",
) -> Response:
    """The files of `supertwin export observation`; for a group, those of all its runs.

    Role: operator, because a crate contains the output. Variables that look like
    secrets are included by name only.
    """
    id_ = _decoded(id_.rpartition("/")[2])
    await _check_size(services, id_)
    body = await while_connected(request, _made(services, id_, form))
    media_type, ending = _TYPES[form]
    name = f'attachment; filename="{encode_id(id_)}.{ending}"'
    headers = {"Content-Disposition": name, "Cache-Control": "no-store"}
    return Response(body, headers=headers, media_type=media_type)


def _decoded(segment: str) -> str:
    try:
        return decode_id(segment)
    except IdError:
        raise unknown(segment) from None


async def _check_size(services: Services, id_: str) -> None:
    group = await runs_of_group(services, id_)
    runs = [str(run["run"]) for run in group] or [
        str(observation_of(services.iris, id_))
    ]
    found = [
        row for run in runs for row in await rows(services, STATISTICS, {"id": run})
    ]
    samples = sum(int(row["samples"] or 0) for row in found)
    if samples > _MOST_SAMPLES:
        detail = (
            f"it has {samples} samples, a download may have {_MOST_SAMPLES}: use "
            f"`supertwin export observation {id_} --out FILE`"
        )
        raise api_error(TooManySamplesError(detail), 409)


async def _made(services: Services, id_: str, form: Form) -> bytes:
    async with _ONE_AT_A_TIME:
        try:
            return await to_thread.run_sync(_written, services, id_, form)
        except UnknownRunError:
            raise unknown(id_) from None
        except ObservationError as error:
            raise ApiError(
                503, "export-failed", "The run cannot be exported now", str(error)
            ) from None


def _written(services: Services, id_: str, form: Form) -> bytes:
    from core.stores.datasets import dataset
    from observations.exchange.export import export_runs, samples_csv
    from observations.timeline.trace import trace_of

    with dataset(services.settings, "twin") as twin:
        if form == "perfetto":
            return b"".join(trace_of(services.settings, twin, id_).parts())
        found = export_runs(services.settings, twin, id_)
    if form == "csv":
        return samples_csv(found)
    if form == "jsonld":
        context = f"{services.settings.base.rstrip('/')}/context.jsonld"
        graph = sum((one.graph for one in found), Graph())
        return rdf.json_ld(graph, context, URIRef(found[0].metadata.node))
    return _zipped(found)


def _zipped(found: "Sequence[ExportedRun]") -> bytes:
    from observations.exchange.export import write_crates_of

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crate.zip"
        write_crates_of(found, path)
        return path.read_bytes()
