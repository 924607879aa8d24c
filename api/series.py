"""One series as the graph describes it: metric, instance, component, plans.

A series need not be a node in the graph: it is the join of a metric with a host's
instance in the metric's instance domain.
"""

from dataclasses import dataclass, field

from rdflib import URIRef

from core.stores.fuseki import GraphStore, Row
from ontology.iris import Iris
from ontology.selectors import selector, series_labels, series_name
from ontology.terms import PREFIXES
from queries.terms import iri_term, text_term

_PREFIXES = "".join(f"PREFIX {p}: <{PREFIXES[p]}>\n" for p in ("st", "qudt", "rdfs"))


@dataclass(frozen=True)
class MetricPlan:
    """One sampling plan of a metric; the period is in seconds."""

    iri: str
    name: str
    period: float


@dataclass(frozen=True)
class CatalogueMetric:
    """A metric of the catalogue; ``domain`` is empty if it has no instances."""

    iri: str
    db_name: str
    semantics: str
    unit: str
    pcp_units: str
    comment: str
    domain: str
    exposed: bool
    resolved_at_fetch: bool
    of_texts: bool = False


@dataclass(frozen=True)
class SeriesInfo:
    """What the graph knows of ``metric`` and ``instance`` on ``host``."""

    host: str
    metric: str
    instance: str | None
    host_known: bool = False
    known: CatalogueMetric | None = None
    component: str = ""
    instance_known: bool = False
    explicit_type: str = ""
    plans: tuple[MetricPlan, ...] = field(default=())

    @property
    def selector(self) -> str:
        """The MetricsQL selector of the series."""
        return selector(self.series_name, series_labels(self.host, self.instance))

    @property
    def series_name(self) -> str:
        """The name of the series in the store."""
        name = self.known.db_name if self.known else ""
        return name or series_name(self.metric)


async def find(
    store: GraphStore, iris: Iris, host: str, metric: str, instance: str | None
) -> SeriesInfo:
    """Look up a series; missing parts are empty in the result."""
    node = iris.host(host)
    rows = await store.rows(_metric_query(node, metric))
    if not rows:
        return SeriesInfo(host, metric, instance)
    known = _metric(rows)
    if known is None:
        return SeriesInfo(host, metric, instance, host_known=True)
    telemetry = iris.telemetry(host, metric, instance)
    found = await store.rows(
        _instance_query(
            node, known, telemetry, _instance(iris, host, known, instance), instance
        )
    )
    return SeriesInfo(
        host=host,
        metric=metric,
        instance=instance,
        host_known=True,
        known=known,
        component=_first(found, "component") or ("" if instance else str(node)),
        instance_known=instance is None or bool(_first(found, "component")),
        explicit_type=_first(found, "type"),
        plans=_plans(found),
    )


async def instances(store: GraphStore, iris: Iris, series: SeriesInfo) -> list[str]:
    """Return the names of the metric's first instances on the host."""
    if series.known is None or not series.known.domain:
        return []
    domain = iri_term(iris.instance_domain(series.known.domain))
    rows = await store.rows(
        f"{_PREFIXES}SELECT ?name {{ ?i st:ofHost {iri_term(iris.host(series.host))} ; "
        f"st:inInstanceDomain {domain} ; st:instname ?name }} ORDER BY ?name LIMIT 5"
    )
    return [row["name"].value for row in rows]


def _instance(
    iris: Iris, host: str, known: CatalogueMetric, instance: str | None
) -> str:
    if instance is None or not known.domain:
        return ""
    return str(iris.metric_instance(host, known.domain, instance))


def _metric_query(host: URIRef, metric: str) -> str:
    node = iri_term(host)
    return f"""{_PREFIXES}
SELECT ?metric ?db ?semantics ?unit ?pcpUnits ?comment ?domain ?exposed ?atFetch
  ?type {{
  {node} a st:ComputeNode .
  OPTIONAL {{
    ?metric st:samplerName {text_term(metric)} ; a st:Metric .
    OPTIONAL {{ ?metric st:dbName ?db }}
    OPTIONAL {{ ?metric st:valueType ?type }}
    OPTIONAL {{ ?metric st:semantics ?semantics }}
    OPTIONAL {{ ?metric qudt:hasUnit ?unit }}
    OPTIONAL {{ ?metric st:pcpUnits ?pcpUnits }}
    OPTIONAL {{ ?metric rdfs:comment ?comment }}
    OPTIONAL {{
      ?metric st:instanceDomain ?indom . ?indom st:domainId ?domain
      BIND (EXISTS {{ {node} st:resolvesAtFetch ?indom }} AS ?atFetch)
    }}
    BIND (EXISTS {{ {node} st:exposes ?metric }} AS ?exposed)
  }}
}} ORDER BY DESC(?exposed) ?metric"""


def _instance_query(
    host: URIRef,
    known: CatalogueMetric,
    telemetry: URIRef,
    instance: str,
    name: str | None,
) -> str:
    node, metric = iri_term(host), iri_term(known.iri)
    node_term = iri_term(telemetry)
    some = "?plan st:samplesInstance"
    parts = [
        f"{{ {node_term} a ?type FILTER (?type IN (st:SWTelemetry, st:HWTelemetry)) }}",
        f"{{ {node_term} st:ofComponent ?component }}",
        f"{{ ?plan st:ofHost {node} ; st:samples {metric} ; st:period ?period "
        "OPTIONAL { ?plan st:planName ?name } "
        f"FILTER (NOT EXISTS {{ {some} ?any }} "
        f"|| EXISTS {{ {some} {text_term(name or '')} }}) }}",
    ]
    if instance:
        parts.append(f"{{ {iri_term(instance)} st:ofComponent ?component }}")
    return (
        f"{_PREFIXES}SELECT ?type ?component ?plan ?period ?name "
        f"{{ {' UNION '.join(parts)} }}"
    )


def _metric(rows: list[Row]) -> CatalogueMetric | None:
    row = rows[0]
    if "metric" not in row:
        return None
    return CatalogueMetric(
        iri=row["metric"].value,
        db_name=_first([row], "db"),
        semantics=_first([row], "semantics"),
        unit=_first([row], "unit"),
        pcp_units=_first([row], "pcpUnits"),
        comment=_first([row], "comment"),
        domain=_first([row], "domain"),
        exposed=_first([row], "exposed") == "true",
        resolved_at_fetch=_first([row], "atFetch") == "true",
        of_texts=_first([row], "type") == "string",
    )


def _plans(rows: list[Row]) -> tuple[MetricPlan, ...]:
    found = {
        row["plan"].value: MetricPlan(
            row["plan"].value, _first([row], "name"), float(row["period"].value)
        )
        for row in rows
        if "plan" in row
    }
    return tuple(found[iri] for iri in sorted(found))


def _first(rows: list[Row], name: str) -> str:
    return next((row[name].value for row in rows if name in row), "")
