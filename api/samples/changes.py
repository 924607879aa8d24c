"""Imports samples into a series, and deletes a span of one."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Annotated, Any, TypeVar

import orjson
from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response

from api import formats
from api.access import audit
from api.access.roles import ANSWERS, requires
from api.access.scoped import scoped
from api.access.tokens import TokenRole
from api.body import body_type, read_body, unsupported_type
from api.connection import while_connected
from api.failures import answered
from api.samples.asked import range_ms
from api.samples.media_types import CSV
from api.samples.unfinished import ONE_CHANGE
from api.series import SeriesInfo
from api.services import Services, Use
from api.telemetry import known_series
from api.twin import Segment
from core.errors import ApiError
from core.settings.setting_types import hours_of
from core.stores.errors import DeletionError
from core.stores.points import NO_POINTS
from core.stores.scope import series_filter
from core.stores.series import read_matching, series_reader
from core.stores.series_writing import send_lines, series_lines, writing
from core.stores.span_deletion import delete_span
from observations.errors import TextMetricError
from observations.exchange.sample_csv import (
    MetricUnit,
    SampleFile,
    check_new,
    read_samples,
)
from ontology.selectors import series_labels
from queries.sample_times import utc_text

router = APIRouter(tags=["Telemetry"])

T = TypeVar("T")
_PATH = "/twin/{host}/telemetry/{metric}/{instance}"
_MOST_BYTES = 16 * 1024 * 1024
_CSV_SCHEMA = {
    "schema": {"type": "string"},
    "example": "time,value [KiB]\n2026-11-18T00:00:00Z,512\n1795046401.5,514\n",
}
_NO_SERIES = {404: {"description": "Unknown host, metric or instance"}}
_IMPORT: dict[str, Any] = {
    "status_code": 201,
    "response_class": Response,
    "dependencies": [requires(TokenRole.OPERATOR)],
    "responses": {
        **ANSWERS,
        **_NO_SERIES,
        201: {"description": "All were imported", "content": {formats.JSON: {}}},
        400: {"description": "An invalid line, the wrong unit, or a text metric"},
        409: {"description": "The series has another value at the time of a sample"},
        413: {"description": "The file is too large"},
        415: {"description": "The body is not text/csv"},
        502: {"description": "The series store cannot be read or written"},
    },
    "openapi_extra": {"requestBody": {"required": True, "content": {CSV: _CSV_SCHEMA}}},
}
_DELETION: dict[str, Any] = {
    "response_class": Response,
    "dependencies": [requires(TokenRole.ADMIN)],
    "responses": {
        **ANSWERS,
        **_NO_SERIES,
        200: {
            "description": "How many samples were deleted",
            "content": {formats.JSON: {}},
        },
        400: {"description": "A wrong span, or an external series store"},
        409: {"description": "The series store refuses the key for deletions"},
        502: {"description": "The series store does not answer"},
    },
}


@router.post(_PATH, summary="Import samples of a series", **_IMPORT)
@scoped
async def import_samples(
    request: Request, services: Use, host: Segment, metric: Segment, instance: Segment
) -> Response:
    """Import CSV with the columns `time` and `value`, all or nothing. Role: operator.

    Times are ISO 8601 or Unix seconds, in order, each once. The header may name the
    unit, `value [KiB]`, which must be that of the metric.
    """
    if body_type(request) != CSV:
        raise unsupported_type(request, CSV)
    series_filter()  # refuses tokens that are limited to jobs or users
    content = await read_body(request, _MOST_BYTES, "file with samples")
    series = await while_connected(
        request, known_series(services, host, metric, instance)
    )
    file = await _run_exclusively(lambda: _import(services, series, content))
    stamps = file.points.stamps.tolist()
    body = _summary(services, series, len(stamps), stamps[0], stamps[-1])
    subject = _audit_subject(series, f"{len(stamps)} samples", stamps[0], stamps[-1])
    audit.record(request, "samples.imported", subject)
    return Response(orjson.dumps(body), 201, media_type=formats.JSON)


@router.delete(_PATH, summary="Delete a span of a series", **_DELETION)
async def delete_samples(
    request: Request,
    services: Use,
    host: Segment,
    metric: Segment,
    instance: Segment,
    from_: Annotated[
        str, Query(alias="from", description="Start of the span (exclusive)")
    ],
    to: Annotated[str, Query(description="End of the span (inclusive)")],
) -> Response:
    """Delete the samples after `from`, up to `to`. Role: admin.

    Times are written as for `GET`. VictoriaMetrics can only delete whole series, so
    the samples to keep are exported and written back. Until then, no samples are sent
    to the store, and reads may miss some.
    """
    series = await known_series(services, host, metric, instance)
    start, end = range_ms(from_, to)
    settings, match = services.settings, _exact_selector(series)
    try:
        count = await _run_exclusively(lambda: delete_span(settings, match, start, end))
    except ApiError as error:
        if error.code == DeletionError.code:
            subject = _audit_subject(series, "a span", start, end)
            audit.record(request, "samples.deleted", subject, error.code)
        raise
    subject = _audit_subject(series, f"{count} samples", start, end)
    audit.record(request, "samples.deleted", subject)
    body = _summary(services, series, count, start, end)
    return Response(orjson.dumps(body), media_type=formats.JSON)


def _import(services: Services, series: SeriesInfo, content: bytes) -> SampleFile:
    assert series.known is not None  # noqa: S101
    if series.known.of_texts:
        raise TextMetricError(
            f"the values of {series.metric} are texts; only numbers can be imported"
        )
    settings, now = services.settings, time.time_ns() // 1_000_000
    oldest = now - (hours_of(settings.retention) or 0) * 3_600_000
    unit = MetricUnit(series.known.unit, series.known.pcp_units)
    file = read_samples(content, unit, oldest, now)
    stamps = file.points.stamps
    # During a deletion, the store lacks samples that are written back later; without
    # the lock, `check_new` would miss conflicts with them.
    with writing(settings), closing(series_reader(settings)) as store:
        found = read_matching(
            store, _exact_selector(series), int(stamps[0]), int(stamps[-1])
        )
        check_new(file, next(iter(found.values()), NO_POINTS))
        labels = {"__name__": series.series_name} | series_labels(
            series.host, series.instance
        )
        send_lines(settings, series_lines(labels, file.points))
        store.request("GET", "/internal/force_flush").read()
    return file


def _exact_selector(series: SeriesInfo) -> str:
    """Return a selector that matches this series only, also without an instance."""
    if series.instance is not None:
        return series.selector
    return f'{series.selector.removesuffix("}")},instname=""}}'


def _summary(
    services: Services, series: SeriesInfo, count: int, start: int, end: int
) -> dict[str, Any]:
    iri = services.iris.telemetry(series.host, series.metric, series.instance)
    return {
        "telemetry": str(iri),
        "samples": count,
        "from": utc_text(start),
        "to": utc_text(end),
    }


def _audit_subject(series: SeriesInfo, what: str, start: int, end: int) -> str:
    instance = "" if series.instance is None else f" {series.instance}"
    name = f"{series.host} {series.metric}{instance}"
    return f"{name}: {what}, {utc_text(start)} to {utc_text(end)}"


async def _run_exclusively(work: Callable[[], T]) -> T:
    """Run it in a thread when it is its turn; its exceptions become ApiErrors."""
    with answered():
        return await to_thread.run_sync(work, limiter=ONE_CHANGE)
