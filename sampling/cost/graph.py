"""The load of the plans in the graph, without and with one more."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from core.stores.endpoint import Endpoint
from ontology.selectors import series_name
from queries.run import saved_rows
from sampling.cost.load import UNKNOWN_AGENT, FetchSize, SamplingLoad, load_of
from sampling.plan_file.plan import make_plan
from sampling.plans.instances import PlanMetric
from sampling.plans.request import PlanRequest

# Returns the current number of values by metric; unknown metrics are left out.
Count = Callable[[Sequence[str]], Mapping[str, int]]
Row = dict[str, Any]


def nobody_counts(_metrics: Sequence[str]) -> dict[str, int]:
    """The counts without a PMCD: none."""
    return {}


def loads(
    twin: Endpoint, host: str | None, counter: Callable[[str], Count]
) -> dict[str, SamplingLoad]:
    """The load of each host with plans, or of one host.

    ``counter`` returns for a host the function that counts what the graph does not
    know: instances that come and go.
    """
    bound = {} if host is None else {"host": host}
    plans = _by_host(saved_rows(twin, "telemetry/sampling", bound))
    sizes = _by_host(saved_rows(twin, "telemetry/sizes", bound))
    return {
        name: load_of(make_plan(of), _sizes(sizes[name], counter(name)))
        for name, of in plans.items()
    }


def loads_with(
    twin: Endpoint,
    request: PlanRequest,
    metrics: Sequence[PlanMetric],
    counters: Mapping[str, int | None],
    count: Count,
) -> tuple[SamplingLoad, SamplingLoad]:
    """The load of the plans of a host, without a requested plan and with it.

    ``counters`` gives the number of values of those ``metrics`` that agents do not give
    yet, such as PMU events: the graph does not know them. None is unknown.
    """
    bound = {"host": request.host}
    plans = saved_rows(twin, "telemetry/sampling", bound)
    known = saved_rows(twin, "telemetry/sizes", bound)
    others = [metric for metric in metrics if metric.name not in counters]
    other_sizes = _metric_sizes(twin, request.host, others)
    sizes = _counters(counters) | _sizes([*known, *other_sizes], count)
    both = make_plan([*plans, *_requested(request, metrics)])
    return load_of(make_plan(plans), sizes), load_of(both, sizes)


def _counters(counters: Mapping[str, int | None]) -> dict[str, FetchSize]:
    """Sizes by metric; the name of a metric begins with that of its agent."""
    return {
        name: FetchSize(name.partition(".")[0], values)
        for name, values in counters.items()
        if values is not None
    }


def _by_host(found: Iterable[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in found:
        grouped[row["host"]].append(row)
    return grouped


def _requested(request: PlanRequest, metrics: Sequence[PlanMetric]) -> list[Row]:
    """The rows of a requested plan, as the bridge would read them."""
    period = f"{request.period_ms / 1000:.3f}"
    instances_of = {metric.name: metric.instances for metric in metrics}
    return [
        {
            "samplerName": name,
            "dbName": series_name(name),
            "period": period,
            "some": instance is not None,
            "instname": instance,
        }
        for name, instances in instances_of.items()
        for instance in instances or (None,)
    ]


def _metric_sizes(
    twin: Endpoint, host: str, metrics: Sequence[PlanMetric]
) -> list[Row]:
    """The sizes of metrics that may not be planned yet, as telemetry/sizes rows."""
    found = []
    for metric in metrics:
        bound = {"host": host, "metric": metric.name}
        of = saved_rows(twin, "telemetry/instances", bound)
        named = {row["instname"] for row in of if row["instname"] is not None}
        values = len(named) if of[0]["domain"] else 1
        found.append({**of[0], "metric": metric.name, "values": values})
    return found


def _sizes(found: Iterable[Row], count: Count) -> dict[str, FetchSize]:
    """Sizes by metric; instances that come and go are counted now."""
    stored: dict[str, FetchSize] = {}
    agents: dict[str, str] = {}
    for row in found:
        agent = row["agent"] or UNKNOWN_AGENT
        if row["resolvedAtFetch"]:
            agents[row["metric"]] = agent
        else:
            stored[row["metric"]] = FetchSize(agent, int(row["values"]))
    counted = count(sorted(agents)) if agents else {}
    return stored | {name: FetchSize(agents[name], n) for name, n in counted.items()}
