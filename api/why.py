"""``/why``: the saved query of that name, joined with the bridge and the store."""

import asyncio
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from api.bridge import read_bridge
from api.connection import while_connected
from api.fuseki import Row
from api.problems import ApiError
from api.rdf import iri_term, text_term
from api.services import Services, Use
from api.store import Sample, StoreError, selector
from api.verdict import Evidence, Known, judge
from ontology.iris import series_name
from ontology.terms import ST
from queries.catalogue import saved_query
from queries.errors import ParameterError

router = APIRouter(tags=["Telemetry"])

QUERY = "why/no-data"


class Why(BaseModel):
    """Why a series has data or not."""

    host: str
    metric: str
    instance: str | None
    verdict: str = Field(
        description="data, stale, unknown host, unknown metric, not exposed by host, "
        "unknown instance, not planned, no permission, PCP error, bridge down, "
        "PMCD down, store down or not yet sampled"
    )
    reason: str = Field(description="One sentence")
    plan: list[str] = Field(description="Names of the plans that sample it")
    period: float | None = Field(description="Seconds between two samples")
    selector: str = Field(description="MetricsQL selector of the series")
    last_value: float | int | None = Field(
        description="The last value of one series; none of several at once"
    )
    last_timestamp_ms: int | None
    age_s: float | None = Field(description="Seconds since the last value")
    store_reason: str | None = Field(description="Why the store cannot be read")


@router.get("/why", summary="Why a series has no data")
async def why(
    request: Request,
    services: Use,
    host: Annotated[str, Query(description="Host name", min_length=1)],
    metric: Annotated[str, Query(description="Name in PCP", min_length=1)],
    instance: Annotated[
        str | None, Query(description="Instance, such as cpu0; all without it")
    ] = None,
) -> Why:
    """Names the first thing that explains it, from the catalogue to the store."""
    found = await while_connected(
        request, _evidence(services, host, metric, instance or None)
    )
    return _answer(found)


async def _evidence(
    services: Services, host: str, metric: str, instance: str | None
) -> Evidence:
    series = selector(series_name(metric), host, instance)
    known, bridge, (sample, away) = await asyncio.gather(
        _known(services, host, metric, instance),
        to_thread.run_sync(read_bridge, services.bridge_status),
        _last(services, series),
    )
    return Evidence(host, metric, instance, known, bridge, sample, away)


async def _known(
    services: Services, host: str, metric: str, instance: str | None
) -> Known:
    try:
        text = saved_query(QUERY).bind(
            {"host": host, "metric": metric, "instance": instance}
        )
    except ParameterError as error:
        title = "A parameter does not fit"
        raise ApiError(400, "bad-parameter", title, str(error)) from None
    rows, hosts = await asyncio.gather(
        services.graph.rows(text), services.graph.rows(_host_query(host))
    )
    if not rows or not hosts:
        return Known()
    return _read(rows[0], pcp_asked=hosts[0]["asked"].value == "true")


def _host_query(host: str) -> str:
    node, name = iri_term(ST.ComputeNode), iri_term(ST.hostname)
    exposes = iri_term(ST.exposes)
    return (
        f"SELECT ?node (EXISTS {{ ?node {exposes} ?metric }} AS ?asked) "
        f"{{ ?node a {node} ; {name} {text_term(host)} }} LIMIT 1"
    )


def _read(row: Row, pcp_asked: bool) -> Known:
    def text(name: str) -> str:
        return row[name].value if name in row else ""

    return Known(
        host=True,
        pcp_asked=pcp_asked,
        metric=text("known") == "true",
        exposed=text("exposed") == "true",
        has_instances=text("hasInstances") == "true",
        instances=int(text("instances") or 0),
        resolved_at_fetch=text("resolvedAtFetch") == "true",
        plans=tuple(name for name in text("plans").split(",") if name),
        period=float(text("period")) if text("period") else None,
        probe_reason=text("reason"),
    )


async def _last(services: Services, series: str) -> tuple[Sample | None, str]:
    try:
        return await services.store.last(series), ""
    except StoreError as error:
        return None, error.detail


def _answer(found: Evidence) -> Why:
    judged, sample = judge(found), found.sample
    values: dict[str, Any] = {
        "last_value": sample.number if sample and not found.of_many else None,
        "last_timestamp_ms": sample.timestamp_ms if sample else None,
        "age_s": sample.age if sample else None,
    }
    return Why(
        host=found.host,
        metric=found.metric,
        instance=found.instance,
        verdict=judged.verdict,
        reason=judged.reason,
        plan=list(found.known.plans),
        period=found.known.period,
        selector=selector(series_name(found.metric), found.host, found.instance),
        store_reason=found.store_reason or None,
        **values,
    )
