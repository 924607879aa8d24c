"""What was measured in a run, from the graph: figures, metrics, and its time."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rdflib import URIRef

from api.metrics import (
    METRIC_COLUMNS,
    METRIC_PATTERN,
    METRIC_PREFIXES,
    MetricInfo,
    metric_of,
)
from api.observations.figures import figure
from api.observations.search import RUNS, Row, rows
from api.services import Services
from core.errors import ApiError, api_error
from core.stores.fuseki import GraphStore
from observations.errors import UnknownRunError
from ontology.figures import figures
from ontology.iris import IdError, Iris
from queries.natural_order import natural
from queries.terms import iri_term

STATISTICS = "observations/statistics"
# In the order of the table; of a counter, all but the last are rates.
FIGURES = ("minimum", "mean", "median", "p95", "maximum", "total")
_PROV = "http://www.w3.org/ns/prov#"


@dataclass(frozen=True)
class RunSpan:
    """When a run took place on a host, and its sampling period; all in ms."""

    host: str
    start_ms: float
    end_ms: float
    period_ms: int

    @property
    def seconds(self) -> float:
        """The duration."""
        return (self.end_ms - self.start_ms) / 1000


@dataclass(frozen=True)
class MeasuredSeries:
    """One series of a run, with the row of its statistics."""

    metric: MetricInfo
    instance: str | None
    series: str
    row: Row

    def figures(self) -> list[tuple[str, float | None]]:
        """Return each of FIGURES as text and as recorded."""
        return [(self._text(name), _number(self.row[name])) for name in FIGURES]

    @property
    def resolution(self) -> float | None:
        """The seconds between two updates that its rates span; None: each tick."""
        return resolution_of(self.metric, [self.row])

    @property
    def notes(self) -> list[str]:
        """Say why rates span more than a period, and how many were bounded."""
        seconds, bounded = _number(self.row["resolution"]), self.row["bounded"]
        found = [f"updated every {figures(1000 * seconds)} ms"] if seconds else []
        return found + ([f"rates bounded: {bounded}"] if bounded else [])

    def _text(self, name: str) -> str:
        unit, scale = self.metric.unit if name == "total" else self.metric.drawn
        return figure(_number(self.row[name]), unit, float(scale))


def observation_of(iris: Iris, id_: str) -> URIRef:
    """Return the IRI of a run by its id; raises NotFoundError for an invalid id."""
    try:
        return iris.observation(id_)
    except IdError:
        raise unknown(id_) from None


async def runs_of_group(services: Services, id_: str) -> list[Row]:
    """Return the repetitions of a group in order; empty if it is not a group."""
    found = await rows(services, RUNS, {"group": id_})
    return sorted(found, key=lambda run: run["repetition"] or 0)


def unknown(id_: str) -> ApiError:
    """404 for a run that is not recorded."""
    detail = f"no run {id_[:80]!r} is recorded; /observations lists those that are"
    return api_error(UnknownRunError(detail))


async def find_span(services: Services, id_: str) -> RunSpan:
    """Return when and where a recorded run took place; raises NotFoundError."""
    node = iri_term(observation_of(services.iris, id_))
    found = await services.graph.rows(
        f"{METRIC_PREFIXES}SELECT ?host ?start ?end ?period {{ "
        f"{node} st:ranOn|st:ofHost/st:hostname ?host ; "
        f"<{_PROV}startedAtTime> ?start ; <{_PROV}endedAtTime> ?end . "
        f"OPTIONAL {{ {node} st:observationPeriod ?period }} }} LIMIT 1"
    )
    if not found:
        raise unknown(id_)
    row = found[0]
    period = float(row["period"].value) if "period" in row else 1.0
    return RunSpan(
        row["host"].value,
        _ms(row["start"].value),
        _ms(row["end"].value),
        max(1, round(1000 * period)),
    )


async def find_measured(services: Services, iri: URIRef) -> list[MeasuredSeries]:
    """Return every series of a run, by metric and instance."""
    metrics, found = await asyncio.gather(
        find_metrics(services.graph, [str(iri)]),
        rows(services, STATISTICS, {"id": str(iri)}),
    )
    measured = [
        MeasuredSeries(metrics[row["metric"]], row["instance"], str(row["series"]), row)
        for row in found
        if row["metric"] in metrics
    ]
    return sorted(measured, key=lambda m: (m.metric.name, natural(m.instance or "")))


async def find_metrics(
    store: GraphStore, runs: Sequence[str]
) -> Mapping[str, MetricInfo]:
    """Return the metrics that runs have summaries of, by PCP name."""
    run_iris = " ".join(iri_term(run) for run in runs)
    found = await store.rows(
        f"{METRIC_PREFIXES}SELECT {METRIC_COLUMNS} {{ "
        f"{{ SELECT DISTINCT ?metric {{ VALUES ?run {{ {run_iris} }} "
        "?run st:hasSummary/st:ofMetric ?metric } } "
        "?metric st:samplerName ?name ; st:dbName ?db . "
        f"{METRIC_PATTERN} }}"
    )
    return {row["name"].value: metric_of(row) for row in found}


def resolution_of(metric: MetricInfo, summaries: Sequence[Row]) -> float | None:
    """Return a counter's longest seconds between two updates, from summaries."""
    if not metric.is_counter:
        return None
    found = (_number(row["resolution"]) for row in summaries)
    return max((each for each in found if each is not None), default=None)


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))


def _ms(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() * 1000
