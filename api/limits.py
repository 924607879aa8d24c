"""Upper limits of a host's drawn values, from the graph."""

from collections.abc import Iterable

from api.metrics import MetricInfo
from api.services import Services
from ontology.limits import PER_CPU, is_of_all_cpus
from queries.catalogue import saved_query


async def greatest_on(
    services: Services, host: str, metric: MetricInfo
) -> float | None:
    """Return the limit of a metric's drawn values on a host; None if unknown.

    Raises EndpointError.
    """
    return metric.greatest(await cpus_for(services, host, [metric]))


async def cpus_for(
    services: Services, host: str, metrics: Iterable[MetricInfo]
) -> int | None:
    """Return the number of a host's CPUs, if a metric adds up over all of them.

    None if unknown or not needed. Raises EndpointError.
    """
    if not any(is_of_all_cpus(metric.name) for metric in metrics):
        return None
    bound_query = saved_query("telemetry/instances").bind(
        {"host": host, "metric": PER_CPU}
    )
    found = await services.graph.select(bound_query)
    return sum(bool(row["instname"]) for row in found.records()) or None
