"""``/benchmark/{id}``: a benchmark and its results, at their IRIs."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from rdflib import URIRef

from api.access.scoped import scoped
from api.extents import BenchmarkFrame
from api.services import Services, Use
from api.twin import OPTIONS, Segment, decoded, described, framed
from benchmarks.errors import NoSuchBenchmarkError

router = APIRouter(tags=["Benchmarks"])


@router.get("/benchmark/{id}", summary="A benchmark of a host", **OPTIONS)
@scoped
async def benchmark(
    request: Request, services: Use, id: Segment, frame: BenchmarkFrame = ""
) -> Response:
    """Its suite, host, compiler and flags, and links to its results."""
    return await _node(request, services, services.iris.benchmark(decoded(id)), frame)


@router.get(
    "/benchmark/{id}/{run}/{name}", summary="A result of a benchmark", **OPTIONS
)
@scoped
async def result(
    request: Request,
    services: Use,
    id: Segment,
    run: Segment,
    name: Annotated[str, Path(description="Kernel and variant: `triad-streaming`")],
) -> Response:
    """The figure of one kernel: its value with interval, threads, pinning and run."""
    words = (decoded(each) for each in (id, run, name))
    return await _node(request, services, services.iris.benchmark_result(*words))


async def _node(
    request: Request, services: Services, iri: URIRef, frame: str = ""
) -> Response:
    unknown = NoSuchBenchmarkError(
        f"nothing is known as {iri}; /queries/benchmarks/results lists all"
    )
    if frame:
        return await framed(request, services, iri, frame, unknown)
    return await described(request, services, iri, unknown)
