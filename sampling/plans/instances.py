"""Finds out from the graph which instances of a metric a plan samples."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from core.stores.results import TermRows
from ingest.errors import (
    PlanRequestError,
    UnknownInstanceError,
    UnknownMetricError,
)
from queries.catalogue import SavedQuery, saved_query
from queries.run import saved_rows
from sampling.plans.request import PlanRequest, check_instance

_AT_ONCE = 4
_ALIKE = 0.7
_NOT_NUMBERS = {
    "aggregate": "aggregates",
    "aggregate_static": "aggregates",
    "event": "events",
    "highres_event": "events",
}


@dataclass(frozen=True)
class PlanMetric:
    """A metric of a plan; if there are ``instances``, it is restricted to them.

    ``known`` are the sampled instances that the graph knows, each with its component.
    """

    name: str
    iri: URIRef
    known: Mapping[Any, URIRef]
    instances: tuple[str, ...] = ()


@dataclass(frozen=True)
class GraphMetric:
    """What the graph has, or will have, of a metric on a host."""

    name: str
    iri: URIRef
    has_instances: bool
    at_fetch: bool
    instances: Mapping[str, URIRef]


def sampled(
    request: PlanRequest,
    host: URIRef,
    twin: Endpoint,
    counters: Iterable[str] = (),
    foreseen: Sequence[GraphMetric] = (),
) -> list[PlanMetric]:
    """The metrics of a plan, with their instances; raises PlanRequestError.

    `counters` are the metrics of its roles and events; `foreseen` are those that are
    not counted yet.
    """
    names = _distinct([*request.metrics, *counters])
    metrics = [*_metrics(request.host, names, twin), *foreseen]
    if not request.query:
        return [_named(metric, request.instances, host) for metric in metrics]
    answer = _answer(request, twin)
    return [_of_components(metric, request.query, answer) for metric in metrics]


def _distinct(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _metrics(host: str, names: Sequence[str], twin: Endpoint) -> list[GraphMetric]:
    """Look up metrics in parallel; if several are wrong, the first is reported."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(partial(_metric, host, twin), names))


def _metric(host: str, twin: Endpoint, name: str) -> GraphMetric:
    bound = {"host": host, "metric": name}
    rows = saved_rows(twin, "telemetry/instances", bound)
    if not rows:
        raise UnknownMetricError(_unknown(host, name, twin))
    first = rows[0]
    if first["valueType"] in _NOT_NUMBERS:
        what = _NOT_NUMBERS[first["valueType"]]
        raise PlanRequestError(
            f"metric {name} gives {what}, which are not stored: leave it out"
        )
    return GraphMetric(
        name,
        URIRef(first["metric"]),
        first["domain"] is not None,
        bool(first["resolvedAtFetch"]),
        {row["instname"]: URIRef(row["component"]) for row in rows if row["instname"]},
    )


def _unknown(host: str, name: str, twin: Endpoint) -> str:
    rows = saved_rows(twin, "telemetry/names", {"host": host, "pattern": "*"})
    exposed = [row["metric"] for row in rows if row["exposed"]]
    if not exposed:
        return (
            f"no metric of {host} is in the twin: start PCP there, and probe it again"
        )
    near = get_close_matches(name[:100], exposed, n=3, cutoff=_ALIKE)
    hint = "`supertwin query telemetry/metrics` lists its metrics"
    if near:
        hint = f"did you mean {', '.join(near)}?"
    return f"{host} has no metric {name[:100]!r}: {hint}"


def _named(metric: GraphMetric, names: Sequence[str], host: URIRef) -> PlanMetric:
    """All instances, or named ones that the host has or may get."""
    if not names:
        all_of = metric.instances if metric.has_instances else {None: host}
        return PlanMetric(metric.name, metric.iri, all_of)
    if not metric.has_instances:
        raise PlanRequestError(
            f"metric {metric.name} has no instances: leave {names[0]!r} out"
        )
    for name in names:
        if name not in metric.instances and not metric.at_fetch:
            raise UnknownInstanceError(
                f"metric {metric.name} has no instance {name!r}: it has "
                f"{_restricted(metric.instances)}"
            )
    known = {name: iri for name, iri in metric.instances.items() if name in names}
    return PlanMetric(metric.name, metric.iri, known, tuple(_distinct(names)))


def _answer(request: PlanRequest, twin: Endpoint) -> TermRows:
    query = saved_query(request.query)
    _check_form(query)
    given = dict(request.parameters)
    if "host" in query.params:
        given.setdefault("host", request.host)
    return twin.select(query.bind(given))


def _check_form(query: SavedQuery) -> None:
    if query.form != "select" or query.dataset != "twin":
        raise PlanRequestError(
            f"query {query.name} does not return components of the twin: use one that "
            "does, such as topology/socket-threads"
        )


def _of_components(metric: GraphMetric, query: str, answer: TermRows) -> PlanMetric:
    """The instances of the components in the only column that has any."""
    if not metric.has_instances or (metric.at_fetch and not metric.instances):
        why = "its instances come and go" if metric.at_fetch else "it has no instances"
        raise PlanRequestError(
            f"metric {metric.name} has no components in the twin, since {why}: leave "
            "the query out"
        )
    components = components_in(answer, query, metric.name, metric.instances)
    known = {
        name: component
        for name, component in metric.instances.items()
        if component in components
    }
    for name in known:
        check_instance(name)
    return PlanMetric(metric.name, metric.iri, known, tuple(known))


def components_in(
    answer: TermRows, query: str, metric: str, instances: Mapping[str, URIRef]
) -> Collection[URIRef]:
    """The components in the only column with components that a metric has instances of.

    Raises PlanRequestError if no column has any, or if several have.
    """
    columns = {
        name: {row[place] for row in answer.rows if isinstance(row[place], URIRef)}
        for place, name in enumerate(answer.columns)
    }
    if not answer.rows:
        raise PlanRequestError(
            f"query {query} returns no rows, so no instance of {metric} would be "
            "sampled: fix its parameters"
        )
    shown = ", ".join(answer.columns)
    if not any(columns.values()):
        raise PlanRequestError(
            f"query {query} has no column of components ({shown}): use one that "
            "returns IRIs, such as topology/socket-threads"
        )
    held = {*instances.values()}
    fit = [name for name, found in columns.items() if found & held]
    if not fit:
        raise PlanRequestError(
            f"query {query} returns no component that {metric} has an instance of (its "
            f"columns: {shown}; the instances: {_restricted(instances)}): use another "
            "query, or name instances"
        )
    if len(fit) > 1:
        raise PlanRequestError(
            f"query {query} returns components that {metric} has instances of in "
            f"several columns ({', '.join(fit)}): use a query with one such column"
        )
    return {iri for iri in columns[fit[0]] if isinstance(iri, URIRef)}


def _restricted(names: Collection[str]) -> str:
    first = ", ".join(sorted(names)[:5])
    return f"{first} …" if len(names) > 5 else first or "none"
