"""Telemetry IRIs: the selector of a series, its unit, its last value; its samples."""

import asyncio
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from fastapi import APIRouter, Request, Response
from rdflib import Graph, Literal, URIRef
from rdflib.namespace import RDF, RDFS, XSD

from api import nodes, series
from api.access.scoped import scoped
from api.connection import while_connected
from api.nodes import Node
from api.observations.search import rows
from api.processes.instances import runs_as
from api.samples.asked import SampleQuery, asks_for_samples
from api.samples.media_types import sample_type
from api.samples.options import TELEMETRY
from api.samples.read import sample_response
from api.series import SeriesInfo
from api.services import Services, Use
from api.twin import Segment, accepted, decoded, node_response
from core.errors import ApiError, NotFoundError, api_error
from core.stores.errors import StoreError, UnknownTelemetryError
from core.stores.series_store import StoredSample
from ingest.describe.plan import COUNTER_PREFIX
from ingest.errors import UnknownInstanceError, UnknownMetricError
from ontology.iris import NO_INSTANCE
from ontology.terms import QUDT, ST
from queries.hosts import known_hosts, unknown_host
from sampling.plans.events import METRIC_EVENT, event_of_rows

router = APIRouter(tags=["Telemetry"])


@dataclass(frozen=True)
class TelemetryReading:
    """The last sample of a series in the store, or why it cannot be read."""

    sample: StoredSample | None = None
    reason: str = ""


@router.get(
    "/twin/{host}/telemetry/{metric}/{instance}",
    summary="One series, with its last value",
    **TELEMETRY,
)
@scoped
async def telemetry(
    request: Request, services: Use, host: Segment, metric: Segment, instance: Segment
) -> Response:
    """Selector, unit, component, plan, last value and its age in seconds.

    `instance` is `~` for a metric without instances. If the series store is
    unreachable, the answer has no value, and `storeReason` says why.

    With any of `from`, `to`, `step`, `fn`, `q` and `coverage`, the answer is samples,
    as the functions of samples in SPARQL read them: JSON-LD (a list of
    sosa:Observation), CSV, Parquet or an Arrow stream.
    """
    parts = _decoded(host, metric, instance)
    if asks_for_samples(request):
        return await _samples(request, services, *parts)
    media_type = accepted(request)
    node = await while_connected(request, _described(services, *parts))
    return await node_response(request, services, node, media_type)


async def known_series(
    services: Services, host: str, metric: str, instance: str
) -> SeriesInfo:
    """Return the series of the segments of a path; raises ApiError if there is none."""
    parts = _decoded(host, metric, instance)
    found = await series.find(services.graph, services.iris, *parts)
    if refusal := await _refusal(services, found):
        raise refusal
    if not await _is_there(services, found):
        reading = await read(services, found.selector)
        if not reading.sample:
            raise _unknown_instance(found, "the store has no values of it either")
    return found


def _decoded(host: str, metric: str, instance: str) -> tuple[str, str, str | None]:
    name = None if instance == NO_INSTANCE else decoded(instance)
    return decoded(host), decoded(metric), name


async def _samples(
    request: Request, services: Services, host: str, metric: str, instance: str | None
) -> Response:
    media_type, call = sample_type(request), SampleQuery.of(request).call()
    iri = str(services.iris.telemetry(host, metric, instance))
    try:
        return await sample_response(
            request, services, call, [iri], media_type, named=False
        )
    except UnknownTelemetryError as error:
        found = await series.find(services.graph, services.iris, host, metric, instance)
        raise await _refusal(services, found) or api_error(error, 404) from None


async def read(services: Services, selector: str) -> TelemetryReading:
    """Read the last sample of a series, or the reason if the store is unreachable."""
    try:
        return TelemetryReading(await services.store.last(selector))
    except StoreError as error:
        return TelemetryReading(reason=error.detail)


async def _described(
    services: Services, host: str, metric: str, instance: str | None
) -> Node:
    iri = services.iris.telemetry(host, metric, instance)
    found, node = await asyncio.gather(
        series.find(services.graph, services.iris, host, metric, instance),
        nodes.describe(services.graph, iri),
    )
    refusal = await _refusal(services, found)
    if refusal is not None:
        raise refusal
    reading = await read(services, found.selector)
    if not (reading.sample or reading.reason or await _is_there(services, found)):
        raise _unknown_instance(found, "the store has no values of it either")
    _add_series(node, found, services)
    await _add_event(node, found, services)
    _add_reading(node, reading, found)
    return node


async def _is_there(services: Services, found: SeriesInfo) -> bool:
    """Whether the instance is in the graph, or is a process that runs now."""
    if found.instance_known or not found.known or found.instance is None:
        return found.instance_known
    return await runs_as(services, found.host, found.known.domain, found.instance)


async def _refusal(services: Services, found: SeriesInfo) -> ApiError | None:
    """Say why the series cannot exist; None if it can.

    An instance that is resolved at fetch need not be in the graph.
    """
    metric, known = repr(found.metric), found.known
    if not found.host_known:
        return unknown_host(found.host, await known_hosts(services.graph))
    if known is None:
        detail = f"no metric {metric} in the catalogue; see /queries/telemetry/metrics"
        return api_error(UnknownMetricError(detail), 404)
    if not known.exposed and not found.explicit_type:
        detail = (
            f"host {found.host!r} does not expose metric {metric}: "
            "`supertwin why` explains it"
        )
        return NotFoundError("not-exposed", "Metric not exposed", detail)
    if found.instance is None and known.domain:
        names = await series.instances(services.graph, services.iris, found)
        return _unknown_instance(found, f"name one, such as {', '.join(names) or '?'}")
    if found.instance is not None and not known.domain:
        return _unknown_instance(found, f"it has none: write {NO_INSTANCE!r}")
    if not found.instance_known and not known.resolved_at_fetch:
        names = await series.instances(services.graph, services.iris, found)
        return _unknown_instance(found, f"it has {', '.join(names) or 'none'} …")
    return None


def _unknown_instance(found: SeriesInfo, hint: str) -> ApiError:
    requested = NO_INSTANCE if found.instance is None else found.instance
    detail = f"metric {found.metric!r} has no instance {requested!r}; {hint}"
    return api_error(UnknownInstanceError(detail), 404)


def _add_series(node: Node, found: SeriesInfo, services: Services) -> None:
    graph, iri, known = node.graph, node.iri, found.known
    assert known is not None  # noqa: S101
    graph.add((iri, RDF.type, URIRef(found.explicit_type or _kind(found))))
    graph.add((iri, ST.ofHost, services.iris.host(found.host)))
    _add(graph, iri, ST.ofMetric, known.iri)
    _add(graph, iri, ST.ofComponent, found.component)
    _add(graph, URIRef(known.iri), ST.semantics, known.semantics)
    _add(graph, iri, QUDT.hasUnit, known.unit)
    texts = {
        ST.samplerName: found.metric,
        ST.dbName: known.db_name,
        ST.instname: found.instance,
        ST.selector: found.selector,
        RDFS.comment: known.comment,
    }
    for link, text in texts.items():
        if text:
            graph.add((iri, link, Literal(text)))
    if known.pcp_units:
        graph.add((URIRef(known.iri), ST.pcpUnits, Literal(known.pcp_units)))
    for plan in found.plans:
        graph.add((iri, ST.sampledBy, URIRef(plan.iri)))
        period = Literal(Decimal(str(plan.period)))
        graph.add((URIRef(plan.iri), ST.period, period))


def _kind(found: SeriesInfo) -> URIRef:
    """Return the class of a series that is not a node in the graph."""
    counted = found.metric.startswith(COUNTER_PREFIX)
    return ST.HWTelemetry if counted else ST.SWTelemetry


async def _add_event(node: Node, found: SeriesInfo, services: Services) -> None:
    """Add the PMU event of a series that is not a node in the graph."""
    if found.explicit_type or _kind(found) != ST.HWTelemetry:
        return
    requested = {"host": found.host, "metric": found.metric}
    event = event_of_rows(found.metric, await rows(services, METRIC_EVENT, requested))
    node.graph.add((node.iri, ST.pmuName, Literal(event.name)))
    _add(node.graph, node.iri, ST.ofEvent, event.iri or "")


def _add(graph: Graph, iri: URIRef, link: URIRef, value: str) -> None:
    if value:
        graph.add((iri, link, URIRef(value)))


def _add_reading(node: Node, reading: TelemetryReading, found: SeriesInfo) -> None:
    graph, iri, sample = node.graph, node.iri, reading.sample
    if sample is not None:
        of_texts = found.known is not None and found.known.of_texts
        value = Literal(sample.text or "") if of_texts else _value(sample)
        graph.add((iri, ST.lastValue, value))
        at = datetime.fromtimestamp(sample.timestamp_ms / 1000, UTC)
        written = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        graph.add((iri, ST.lastTime, _literal(written, XSD.dateTime)))
        graph.add((iri, ST.age, Literal(Decimal(str(sample.age)))))
    reason = reading.reason or ("" if sample else "the store has no value of it")
    if reason:
        graph.add((iri, ST.storeReason, Literal(reason)))


def _value(sample: StoredSample) -> Literal:
    """Return the stored text, typed as a number if JSON and XSD can represent it."""
    if not math.isfinite(float(sample.value)):
        return Literal(sample.value)
    whole = sample.value.removeprefix("-").isdecimal()
    return _literal(sample.value, XSD.integer if whole else XSD.double)


def _literal(text: str, datatype: URIRef) -> Literal:
    return Literal(text, datatype=datatype, normalize=False)
