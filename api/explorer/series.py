"""The series of one component: last values, ages, and the last quarter of an hour."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from rdflib import URIRef

from api.fuseki import GraphStore, Row
from api.rdf import iri_term
from api.store import SeriesStore
from api.web.pages import natural
from dashboards.errors import UnitError
from dashboards.spec import Unit
from dashboards.units import drawn_unit, local_name
from ontology.iris import Iris
from ontology.selectors import TEXT_LABEL, escaped, pattern
from ontology.terms import PREFIXES

SECONDS = 900
POINTS = 90
_WINDOW = f"{SECONDS}s"
_PREFIXES = "".join(f"PREFIX {p}: <{PREFIXES[p]}>\n" for p in ("st", "qudt", "rdfs"))


@dataclass(frozen=True)
class Reading:
    """What the store holds of a series: the rate is that of a counter, per second.

    ``text`` is what a metric of texts said last; its value is 1, and no chart.
    """

    value: float | None = None
    time: float | None = None
    chart: tuple[float | None, ...] = ()
    text: str | None = None


@dataclass(frozen=True)
class Metric:
    """One series that is sampled every ``period`` seconds.

    ``unit`` is that of the value, ``chart_unit`` that of the chart: the rate of a
    counter. Both come with what a stored value is multiplied by.
    """

    name: str
    db_name: str
    instance: str | None
    telemetry: str
    counter: bool
    comment: str
    period: float
    unit: tuple[Unit, Fraction]
    chart_unit: tuple[Unit, Fraction]
    reading: Reading = field(default=Reading())


@dataclass(frozen=True)
class Other:
    """One series that a component can have, by its name in PCP."""

    name: str
    instance: str
    telemetry: str
    comment: str


async def find_sampled(store: GraphStore, iri: URIRef) -> list[Metric]:
    """Every series of a component that a plan samples, by name and instance."""
    rows = await store.rows(_sampled(iri_term(iri)))
    found = [_metric(row) for row in rows if "t" in row]
    return sorted(found, key=lambda m: (m.name, natural(m.instance or "")))


async def find_others(
    store: GraphStore, iris: Iris, host: str, iri: URIRef
) -> list[Other]:
    """Every series of numbers that instances of a component give, sampled or not."""
    rows = await store.rows(_others(iri_term(iris.host(host)), iri_term(iri)))
    found = [
        Other(
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


async def read_metrics(
    store: SeriesStore, host: str, metrics: Sequence[Metric]
) -> tuple[list[Metric], list[float]]:
    """The metrics with what the store holds of them, and the times of the charts.

    Raises StoreError.
    """
    end = math.floor(time.time())
    instances = {metric.instance for metric in metrics}
    answers = await asyncio.gather(
        *(_readings(store, host, metrics, instance, end) for instance in instances)
    )
    found = {key: reading for answer in answers for key, reading in answer.items()}
    step = SECONDS // POINTS
    times = [float(end - SECONDS + step * number) for number in range(POINTS + 1)]
    return [
        replace(m, reading=found.get((m.db_name, m.instance), Reading()))
        for m in metrics
    ], times


async def _readings(
    store: SeriesStore,
    host: str,
    metrics: Sequence[Metric],
    instance: str | None,
    end: int,
) -> dict[tuple[str, str | None], Reading]:
    own = [metric for metric in metrics if metric.instance == instance]
    names = {c: [m.db_name for m in own if m.counter is c] for c in (False, True)}
    every = _selector(host, instance, [metric.db_name for metric in own])
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
    # Of a metric of texts there may be several; a later one overwrites.
    found = {}
    for name, text in sorted(values, key=lambda key: times.get(key, 0.0)):
        value, at = values[name, text], times.get((name, text))
        chart = charts.get(name, ()) if text is None else ()
        found[name, instance] = Reading(value, at, chart, text)
    return found


def _selector(host: str, instance: str | None, names: Sequence[str]) -> str:
    labels = {"hostname": host, "instname": instance or ""}
    known = ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items())
    return f'{{{known},__name__=~"{escaped(pattern(names))}"}}'


async def _last(
    store: SeriesStore, query: str, end: int
) -> dict[tuple[str, str | None], float]:
    """Values by the name of the series and its text."""
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
    columns = "?t ?metric ?name ?db ?instname ?kind ?unit ?units ?comment"
    return (
        f"{_PREFIXES}SELECT {columns} (MIN(?each) AS ?period) {{ "
        f"?t st:ofComponent {component} ; st:sampledBy ?plan . ?plan st:period ?each . "
        "?t st:ofMetric ?metric ; st:samplerName ?name ; st:dbName ?db . "
        "OPTIONAL { ?t st:instname ?instname } ?metric st:semantics ?kind . "
        "OPTIONAL { ?metric qudt:hasUnit ?unit } "
        "OPTIONAL { ?metric st:pcpUnits ?units } "
        f"OPTIONAL {{ ?metric rdfs:comment ?comment }} }} GROUP BY {columns}"
    )


def _others(host: str, component: str) -> str:
    return (
        f"{_PREFIXES}SELECT ?name ?instname ?comment {{ "
        f"{{ SELECT DISTINCT ?d ?instname {{ ?i st:ofComponent {component} . "
        "?i a st:MetricInstance ; st:instname ?instname ; st:inInstanceDomain ?d } } "
        "?metric st:instanceDomain ?d ; st:samplerName ?name ; st:valueType ?type . "
        'FILTER (?type IN ("32", "u32", "64", "u64", "float", "double", "string")) '
        f"FILTER EXISTS {{ {host} st:exposes ?metric }} "
        "OPTIONAL { ?metric rdfs:comment ?comment } }"
    )


def _metric(row: Row) -> Metric:
    def text(name: str) -> str:
        return row[name].value if name in row else ""

    counter = text("kind").endswith("#Counter")
    return Metric(
        name=text("name"),
        db_name=text("db"),
        instance=text("instname") if "instname" in row else None,
        telemetry=text("t"),
        counter=counter,
        comment=text("comment"),
        period=float(text("period")),
        unit=unit_of(text("unit"), text("units"), rate=False),
        chart_unit=unit_of(text("unit"), text("units"), rate=counter),
    )


def unit_of(qudt: str, pcp: str, *, rate: bool) -> tuple[Unit, Fraction]:
    """The unit to draw; for one that nobody knows how to draw, PCP's own text."""
    try:
        return drawn_unit(local_name(qudt) if qudt else None, rate)
    except UnitError:
        symbol = f"{pcp}/s" if rate else pcp
        return Unit(local_name(qudt), symbol, "short"), Fraction(1)
