"""Plans of a host in the graph store: adds and removes them.

Each plan has its own named graph, so that it is added and removed in one transaction
and outlives the next probe of its host.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches

from rdflib import Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.describe.plan import MONITOR, CountedEvent, describe_sampling
from ingest.entailed import drop, in_both, with_entailed
from ingest.errors import NoSuchPlanError, PlanExistsError, PlanRequestError
from ingest.shape_check import first_fault
from ingest.triples import Triples, Value, insertion
from ontology.iris import IdError, Iris
from ontology.terms import ST
from queries.errors import UnknownHostError
from queries.run import saved_rows
from sampling.plans.counters import COUNTERS, CounterPurpose, counted_among
from sampling.plans.events import counted_events
from sampling.plans.instances import PlanMetric, sampled
from sampling.plans.request import PlanRequest, check_plan_name, check_request


def check_new(request: PlanRequest, twin: Endpoint, iris: Iris) -> None:
    """Raise PlanRequestError for faults that a quick check can find."""
    check_request(request)
    _check_free(request, twin, iris)
    _check_no_counters(request, twin, iris)


def _check_free(request: PlanRequest, twin: Endpoint, iris: Iris) -> None:
    if not twin.ask(_plan_exists(request.host, request.name, iris, has_plan=False)):
        check_host(request.host, twin, iris)
        raise PlanExistsError(
            f"{request.host} has a plan {request.name} already: give another name, or "
            "remove it first"
        )


def add_plan(
    request: PlanRequest,
    twin: Endpoint,
    iris: Iris,
    counters: Mapping[str, CounterPurpose] | None = None,
) -> list[PlanMetric]:
    """Write a plan; return what it samples.

    `counters` are the metrics of its roles and events, which must be in the graph.
    Raises PlanRequestError if the plan is not possible; nothing is written then.
    """
    counts = counters or {}
    metrics = _checked(request, twin, iris, counts)
    names = [metric.name for metric in metrics]
    events = counted_events(names, counts, request.host, twin, iris)
    triples = _described(request, metrics, iris, counts, events)
    known = _known(metrics, _node(request.host, iris), events.values())
    if fault := first_fault(triples, twin, known=known):
        raise PlanRequestError(
            f"plan {request.name} violates the shapes, so it was not written: {fault}"
        )
    graphs = {iris.plan_graph(request.host, request.name): triples}
    twin.update(insertion(with_entailed(graphs, iris)))
    return metrics


def _check_no_counters(request: PlanRequest, twin: Endpoint, iris: Iris) -> None:
    """Refuse metrics counted for other plans' events: they would end with those."""
    names = [name for name in request.metrics if name.startswith(COUNTERS)]
    if counted := names and counted_among(request.host, names, twin, iris):
        raise PlanRequestError(
            f"metric {counted[0]} is counted for the events of other plans, and ends "
            "with them: request its event instead (`--event PMU::EVENT`)"
        )


def _known(
    metrics: Sequence[PlanMetric], host: URIRef, events: Iterable[CountedEvent]
) -> Mapping[URIRef, URIRef | None]:
    """The classes of what a plan names, as the earlier queries found them."""
    components = {one for metric in metrics for one in metric.known.values()}
    found: dict[URIRef, URIRef | None] = dict.fromkeys(components)
    return (
        found
        | {event.iri: ST.PmuEvent for event in events if event.iri}
        | {metric.iri: ST.Metric for metric in metrics}
        | {host: ST.ComputeNode}
    )


def _checked(
    request: PlanRequest, twin: Endpoint, iris: Iris, counters: Iterable[str]
) -> list[PlanMetric]:
    """What a plan samples; both queries to the store run at the same time."""
    check_request(request)
    _check_no_counters(request, twin, iris)
    with ThreadPoolExecutor(1) as pool:
        is_free = pool.submit(_check_free, request, twin, iris)
        try:
            return sampled(request, _node(request.host, iris), twin, counters)
        finally:
            is_free.result()  # its error takes precedence


def remove_plan(host: str, name: str, twin: Endpoint, iris: Iris) -> None:
    """Remove a plan, with its telemetry; raises PlanRequestError."""
    check_plan_name(name)
    if not twin.ask(_plan_exists(host, name, iris, has_plan=True)):
        check_host(host, twin, iris)
        names = plan_names(host, twin)
        near = get_close_matches(name, names, n=3) or names
        known = f"it has {', '.join(near)}" if near else "it has none"
        raise NoSuchPlanError(f"{host} has no plan {name}; {known}")
    twin.update(_removal(host, name, iris))


def check_host(host: str, twin: Endpoint, iris: Iris) -> None:
    """Raise UnknownHostError for a host without a twin."""
    node = _node(host, iris)
    if not twin.ask(f"ASK {{ <{node}> a <{ST.ComputeNode}> }}"):
        known = [str(row["host"]) for row in saved_rows(twin, "inventory/hosts")]
        near = get_close_matches(host[:100], known, n=3) or known[:5]
        hint = "the twin has none; load one with `supertwin up` or `supertwin add`"
        if near:
            hint = f"the twin has {', '.join(near)}"
        raise UnknownHostError(f"no host {host[:100]!r}: {hint}")


def plan_names(host: str, twin: Endpoint) -> list[str]:
    """The names of all plans of a host, sorted."""
    rows = saved_rows(twin, "telemetry/plans", {"host": host})
    return sorted({str(row["plan"]) for row in rows})


def free_name(names: Sequence[str]) -> str:
    """The first of plan-1, plan-2 … that is not taken."""
    taken = {*names, MONITOR}
    return next(
        name
        for name in (f"plan-{number}" for number in range(1, len(taken) + 2))
        if name not in taken
    )


def _node(host: str, iris: Iris) -> URIRef:
    try:
        return iris.host(host)
    except IdError as error:
        raise UnknownHostError(f"no host {host!r}: {error}") from None


def _plan_exists(host: str, name: str, iris: Iris, *, has_plan: bool) -> str:
    """A query whether the host exists, with a plan of this name or without."""
    node, text = _node(host, iris), Literal(name).n3()
    # The name comes first: thousands of nodes belong to a host.
    plan = f"{{ ?plan <{ST.planName}> {text} ; <{ST.ofHost}> <{node}> }}"
    having = "EXISTS" if has_plan else "NOT EXISTS"
    return f"ASK {{ <{node}> a <{ST.ComputeNode}> FILTER {having} {plan} }}"


def _described(
    request: PlanRequest,
    metrics: Sequence[PlanMetric],
    iris: Iris,
    counters: Mapping[str, CounterPurpose],
    events: Mapping[str, CountedEvent],
) -> Triples:
    triples = Triples()
    given = json.dumps(dict(sorted(request.parameters.items())), ensure_ascii=False)
    for metric in metrics:
        plan = describe_sampling(
            triples,
            iris,
            request.host,
            request.name,
            request.period_ms / 1000,
            metric.name,
            metric.iri,
            metric.known,
            events.get(metric.name),
        )
        triples.link(
            plan,
            {
                ST.samplesInstance: metric.instances,
                ST.instancesFrom: request.query,
                ST.queryParameters: given if request.query else None,
            },
        )
        if counts := counters.get(metric.name):
            triples.link(plan, _counting(iris, request, counts))
    return triples


def _counting(
    iris: Iris, request: PlanRequest, counts: CounterPurpose
) -> dict[URIRef, Value | Iterable[Value]]:
    return {
        ST.samplesRole: [iris.role(role) for role in counts.roles],
        ST.samplesEvent: counts.event or None,
        ST.sharesCounters: request.multiplex or None,
    }


def _removal(host: str, name: str, iris: Iris) -> str:
    """The removal of a plan, also from the graph that imported plans share."""
    shared, own = iris.plans_graph(host), iris.plan_graph(host, name)
    is_it = f"?plan <{ST.planName}> {Literal(name).n3()}"
    return f"""{drop(iris, own)} ;
    DELETE {{ GRAPH ?graph {{ ?series ?p ?o }} }} WHERE {{
      GRAPH <{shared}> {{ {is_it} . ?series <{ST.sampledBy}> ?plan
      FILTER NOT EXISTS {{ ?series <{ST.sampledBy}> ?other FILTER (?other != ?plan) }}
      }} {in_both(iris, shared, "?series ?p ?o")} }} ;
    WITH <{shared}> DELETE {{ ?series <{ST.sampledBy}> ?plan }} WHERE {{
      {is_it} . ?series <{ST.sampledBy}> ?plan }} ;
    DELETE {{ GRAPH ?graph {{ ?plan ?p ?o }} }} WHERE {{
      GRAPH <{shared}> {{ {is_it} }} {in_both(iris, shared, "?plan ?p ?o")} }}"""
