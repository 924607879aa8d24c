"""What drawn values of a host cannot exceed, as the graph tells it."""

from collections.abc import Iterable

from api.metrics import Metric
from api.services import Services
from core.stores.endpoint import JSON_RESULTS
from core.stores.results import read_rows
from ontology.limits import PER_CPU, is_of_all_cpus
from queries.catalogue import saved_query


async def greatest_on(services: Services, host: str, metric: Metric) -> float | None:
    """What a drawn value of a metric cannot exceed on a host; None: nobody knows.

    Raises GraphStoreError.
    """
    return metric.greatest(await cpus_for(services, host, [metric]))


async def cpus_for(
    services: Services, host: str, metrics: Iterable[Metric]
) -> int | None:
    """How many CPUs a host has, if one of the metrics adds up over all of them.

    None where nobody knows. Raises GraphStoreError.
    """
    if not any(is_of_all_cpus(metric.name) for metric in metrics):
        return None
    asked = saved_query("telemetry/instances").bind({"host": host, "metric": PER_CPU})
    found = read_rows(await services.graph.query(asked, JSON_RESULTS))
    return sum(bool(row["instname"]) for row in found.records()) or None
