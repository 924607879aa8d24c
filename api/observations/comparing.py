"""``/observations/compare``: compares runs, or groups of repetitions."""

import asyncio
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from pydantic import AfterValidator, StringConstraints

from api import formats
from api.bounds import Column, bounded
from api.connection import while_connected
from api.limits import greatest_on
from api.metrics import MetricInfo
from api.negotiation import negotiate
from api.observations.compare_page import compare_page
from api.observations.measured import (
    STATISTICS,
    RunSpan,
    find_metrics,
    find_span,
    observation_of,
    resolution_of,
)
from api.observations.parameters import POINTS, MetricName, Points
from api.observations.readings import (
    RunGrid,
    added,
    read,
    step_of,
    together,
    window,
)
from api.observations.search import RUNS, Row, rows
from api.services import Services, Use
from api.sparql import response
from core.errors import UserError, api_error
from observations.errors import NotMeasuredError, UnknownRunError
from ontology.iris import decode_id

if TYPE_CHECKING:
    from observations.comparison.comparing import RunComparison

router = APIRouter(prefix="/observations/compare", tags=["Observations"])

_WHAT = "comparisons are served as JSON and HTML"
MOST = 12
# For each group: more repetitions make a chart slower and hardly change it.
_MOST_RUNS = 20


def _distinct(ids: list[str]) -> list[str]:
    if len(set(ids)) < len(ids):
        raise ValueError("the same id twice; /observations lists runs and groups")
    return ids


Ids = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=300)]],
    Query(
        alias="id",
        min_length=2,
        max_length=MOST,
        json_schema_extra={"uniqueItems": True},
        description="Id or IRI of a run or group; two or more",
    ),
    AfterValidator(_distinct),
]
Tolerance = Annotated[
    float,
    Query(
        ge=0,
        le=100,
        description="Change in percent of the first mean that does not matter",
    ),
]
# 100 × DEFAULT_TOLERANCE, whose module imports scipy; a test compares them.
TOLERANCE = 5.0
_ANSWERS: dict[int | str, dict[str, Any]] = {
    404: {"description": "No such run or group"},
    503: {"description": "A store is unreachable"},
}


@router.get("", summary="Compare runs", response_class=Response, responses=_ANSWERS)
async def compare(
    request: Request, services: Use, ids: Ids, tolerance: Tolerance = TOLERANCE
) -> Response:
    """Durations and measurements with 95 % intervals and a verdict against the first,
    and other differences, as `supertwin compare` prints them.
    """
    accept = request.headers.getlist("accept")
    media_type = negotiate(accept, (formats.JSON, formats.HTML), _WHAT)
    found = await while_connected(request, compared(services, ids, tolerance))
    if media_type == formats.HTML:
        runs = [str(run["run"]) for group in found.groups for run in group.runs]
        known = await find_metrics(services.graph, runs)
        return compare_page(request, services, ids, found, known)
    from observations.comparison.compared import document, plain

    return response(orjson.dumps(document(found), default=plain), formats.JSON)


@router.get(
    "/series",
    summary="A metric during several runs",
    response_class=Response,
    responses=_ANSWERS,
)
async def compared_series(
    request: Request,
    services: Use,
    ids: Ids,
    metric: MetricName,
    instance: Annotated[
        str | None,
        Query(
            max_length=1000,
            description="Instance of the metric; default: the sum of all",
        ),
    ] = None,
    points: Points = POINTS,
) -> Response:
    """`times` in seconds since each run's start; `values` with a list for each id, the
    mean over the runs of a group (of its first 20).
    """
    work = _series(services, ids, metric, instance, points)
    return response(await while_connected(request, work), formats.JSON)


async def compared(
    services: Services, ids: Sequence[str], tolerance: float
) -> "RunComparison":
    """Compare with a tolerance in percent; raises ApiError."""
    try:
        return await to_thread.run_sync(_compared, services, ids, tolerance)
    except UserError as error:
        raise api_error(error) from None


def _compared(
    services: Services, ids: Sequence[str], tolerance: float
) -> "RunComparison":
    # Imports scipy, which would add a second to the API's start.
    from core.stores.datasets import dataset
    from observations.comparison.comparing import compare, find_group

    with dataset(services.settings, "twin") as twin:
        groups = [find_group(twin, services.iris, id_) for id_ in ids]
    return compare(groups, tolerance / 100)


async def _series(
    services: Services,
    ids: Sequence[str],
    metric: str,
    instance: str | None,
    points: int,
) -> bytes:
    groups = await asyncio.gather(*(_runs(services, id_) for id_ in ids))
    first = [[str(run["run"]) for run in group] for group in groups]
    nodes = [run for runs in first for run in runs]
    known = await find_metrics(services.graph, nodes)
    if metric not in known:
        detail = (
            f"no run measured {metric[:80]!r}; see /queries/observations/statistics"
        )
        raise api_error(NotMeasuredError(detail))
    spans = await asyncio.gather(*(find_span(services, _id(run)) for run in nodes))
    longest = max(span.seconds for span in spans)
    names = [{"id": node, "metric": metric} for node in nodes]
    found = await asyncio.gather(*(rows(services, STATISTICS, each) for each in names))
    resolution = resolution_of(known[metric], [row for each in found for row in each])
    period = max(span.period_ms for span in spans)
    step = step_of(period, longest, points, resolution)
    grid = RunGrid(0.0, step, int(1000 * longest // step) + 2)
    pairs = await asyncio.gather(
        *(
            _columns(services, span, known[metric], instance, measured, grid)
            for span, measured in zip(spans, found, strict=True)
        )
    )
    sizes = [len(runs) for runs in first]
    measured, shown = (
        _averaged(columns, sizes) for columns in zip(*pairs, strict=True)
    )
    return orjson.dumps(window(metric, grid, measured, shown))


def _averaged(columns: Sequence[Column], sizes: Sequence[int]) -> list[Column]:
    """Return the mean of each group; ``sizes`` are the columns of each group."""
    left = iter(columns)
    return [together(list(islice(left, size))) for size in sizes]


async def _columns(
    services: Services,
    span: RunSpan,
    metric: MetricInfo,
    instance: str | None,
    measured: Sequence[Row],
    grid: RunGrid,
) -> list[Column]:
    """Read one series of a run; without ``instance``, the sum of all its series.

    Returns the measured values, and the same limited to what is possible.
    """
    named = [instance]
    if instance is None:
        named = [row["instance"] for row in measured]
    resolution = resolution_of(metric, measured)
    columns = await read(services, span, metric, named, grid, resolution)
    # An empty column for a run that did not measure it.
    nothing: Column = [None] * grid.count
    greatest = await greatest_on(services, span.host, metric)
    both = (columns, bounded(columns, greatest))
    return [_within(added([*each, nothing]), grid, span.seconds) for each in both]


def _within(column: Column, grid: RunGrid, seconds: float) -> Column:
    """Remove the values after the end of the run."""
    last = 1000 * seconds + grid.step_ms
    times = (grid.first_ms + i * grid.step_ms for i in range(grid.count))
    pairs = zip(times, column, strict=True)
    return [value if time <= last else None for time, value in pairs]


async def _runs(services: Services, id_: str) -> list[Row]:
    """Return the first runs of a group, or the one run, in the order they ran."""
    bare = id_.rsplit("/", 1)[-1]
    found = await rows(services, RUNS, {"group": bare})
    if not found:
        node = observation_of(services.iris, bare)
        found = await rows(services, RUNS, {"id": str(node)})
    if not found:
        detail = f"no run and no group {id_[:80]!r} is recorded: see /observations"
        raise api_error(UnknownRunError(detail))
    return found[::-1][:_MOST_RUNS]


def _id(iri: str) -> str:
    return decode_id(iri.rpartition("/")[2])
