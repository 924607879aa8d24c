"""The series of one component: last values, ages, and the last 15 minutes."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rdflib import URIRef

from api.metrics import (
    METRIC_COLUMNS,
    METRIC_PATTERN,
    METRIC_PREFIXES,
    MetricInfo,
    metric_of,
)
from core.stores.fuseki import GraphStore, Row
from core.stores.series_store import SeriesStore
from ontology.iris import Iris
from ontology.selectors import TEXT_LABEL, escaped, pattern
from queries.natural_order import natural
from queries.terms import iri_term

SECONDS = 900
POINTS = 90
_WINDOW = f"{SECONDS}s"


@dataclass(frozen=True)
class SeriesReading:
    """The stored values of a series; a counter is charted as a rate per second.

    ``text`` is the last value of a text metric; its value is then 1, without a chart.
    """

    value: float | None = None
    time: float | None = None
    chart: tuple[float | None, ...] = ()
    text: str | None = None


@dataclass(frozen=True)
class SampledSeries:
    """One series of a metric that is sampled every ``period`` seconds."""

    metric: MetricInfo
    instance: str | None
    telemetry: str
    period: float
    reading: SeriesReading = field(default=SeriesReading())


@dataclass(frozen=True)
class OtherSeries:
    """One series that a component can have; ``name`` is PCP's."""

    name: str
    instance: str
    telemetry: str
    comment: str


async def find_sampled(store: GraphStore, iri: URIRef) -> list[SampledSeries]:
    """Return every sampled series of a component, by name and instance."""
    rows = await store.rows(_sampled(iri_term(iri)))
    found = [_sampled_of(row) for row in rows if "t" in row]
    return sorted(found, key=lambda s: (s.metric.name, natural(s.instance or "")))


async def find_others(
    store: GraphStore, iris: Iris, host: str, iri: URIRef
) -> list[OtherSeries]:
    """Return every series that a component's instances have, sampled or not."""
    rows = await store.rows(_others(iri_term(iris.host(host)), iri_term(iri)))
    found = [
        OtherSeries(
            name=row["name"].value,
            instance=row["instname"].value,
            telemetry=str(
                iris.telemetry(host, row["name"].value, row["instname"].value)
            ),
            comment=row["comment"].value if "comment" in row else "",
        )
        for row in rows
    ]
    return sorted(found, key=lambda o: (o.name, natural(o.instance)))


async def read_sampled(
    store: SeriesStore, host: str, sampled: Sequence[SampledSeries]
) -> tuple[list[SampledSeries], list[float]]:
    """Add the stored values to the series; also return the times of the charts.

    Raises StoreError.
    """
    end = math.floor(time.time())
    metrics: dict[str | None, list[MetricInfo]] = {}
    for one in sampled:
        metrics.setdefault(one.instance, []).append(one.metric)
    answers = await asyncio.gather(
        *(_readings(store, host, own, name, end) for name, own in metrics.items())
    )
    found = {key: reading for answer in answers for key, reading in answer.items()}
    step = SECONDS // POINTS
    times = [float(end - SECONDS + step * number) for number in range(POINTS + 1)]
    return [
        replace(s, reading=found.get((s.metric.db_name, s.instance), SeriesReading()))
        for s in sampled
    ], times


async def _readings(
    store: SeriesStore,
    host: str,
    metrics: Sequence[MetricInfo],
    instance: str | None,
    end: int,
) -> dict[tuple[str, str | None], SeriesReading]:
    names = {
        c: [m.db_name for m in metrics if m.is_counter is c] for c in (False, True)
    }
    every = _selector(host, instance, [metric.db_name for metric in metrics])
    values, times, levels, rates = await asyncio.gather(
        _last(store, f"last_over_time({every}[{_WINDOW}])", end),
        _last(store, f"tlast_over_time({every}[{_WINDOW}]) keep_metric_names", end),
        _charts(store, _selector(host, instance, names[False]), end),
        _charts(
            store,
            f"rate({_selector(host, instance, names[True])}) keep_metric_names",
            end,
        ),
    )
    charts = levels | rates
    # A text metric may have several texts; the latest overwrites the others.
    found = {}
    for name, text in sorted(values, key=lambda key: times.get(key, 0.0)):
        value, at = values[name, text], times.get((name, text))
        chart = charts.get(name, ()) if text is None else ()
        found[name, instance] = SeriesReading(value, at, chart, text)
    return found


def _selector(host: str, instance: str | None, names: Sequence[str]) -> str:
    labels = {"hostname": host, "instname": instance or ""}
    known = ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items())
    return f'{{{known},__name__=~"{escaped(pattern(names))}"}}'


async def _last(
    store: SeriesStore, query: str, end: int
) -> dict[tuple[str, str | None], float]:
    """Return values by the name of the series and its text."""
    parameters = {"query": query, "time": str(end + 1), "nocache": "1"}
    answer = await store.result("/api/v1/query", parameters)
    return {
        (one["metric"]["__name__"], one["metric"].get(TEXT_LABEL)): float(
            one["value"][1]
        )
        for one in answer
    }


async def _charts(
    store: SeriesStore, query: str, end: int
) -> dict[str, tuple[float | None, ...]]:
    step = SECONDS // POINTS
    parameters = {
        "query": query,
        "start": str(end - SECONDS),
        "end": str(end),
        "step": f"{step}s",
        "nocache": "1",
    }
    answer = await store.result("/api/v1/query_range", parameters)
    return {
        one["metric"]["__name__"]: _points(one["values"], end - SECONDS, step)
        for one in answer
    }


def _points(
    values: Sequence[Sequence[float | str]], start: int, step: int
) -> tuple[float | None, ...]:
    known = {round((float(at) - start) / step): float(value) for at, value in values}
    points = (known.get(number) for number in range(POINTS + 1))
    return tuple(v if v is not None and math.isfinite(v) else None for v in points)


def _sampled(component: str) -> str:
    columns = f"?t ?metric ?instname {METRIC_COLUMNS}"
    return (
        f"{METRIC_PREFIXES}SELECT {columns} (MIN(?each) AS ?period) {{ "
        f"?t st:ofComponent {component} ; st:sampledBy ?plan . ?plan st:period ?each . "
        "?t st:ofMetric ?metric ; st:samplerName ?name ; st:dbName ?db . "
        f"OPTIONAL {{ ?t st:instname ?instname }} {METRIC_PATTERN} }} "
        f"GROUP BY {columns}"
    )


def _others(host: str, component: str) -> str:
    return (
        f"{METRIC_PREFIXES}SELECT ?name ?instname ?comment {{ "
        f"{{ SELECT DISTINCT ?d ?instname {{ ?i st:ofComponent {component} . "
        "?i a st:MetricInstance ; st:instname ?instname ; st:inInstanceDomain ?d } } "
        "?metric st:instanceDomain ?d ; st:samplerName ?name ; st:valueType ?type . "
        'FILTER (?type IN ("32", "u32", "64", "u64", "float", "double", "string")) '
        f"FILTER EXISTS {{ {host} st:exposes ?metric }} "
        "OPTIONAL { ?metric rdfs:comment ?comment } }"
    )


def _sampled_of(row: Row) -> SampledSeries:
    return SampledSeries(
        metric=metric_of(row),
        instance=row["instname"].value if "instname" in row else None,
        telemetry=row["t"].value,
        period=float(row["period"].value),
    )
