"""How many CPUs a host has."""

from core.stores.endpoint import Endpoint
from ontology.limits import PER_CPU
from queries.run import saved_rows


def count_cpus(twin: Endpoint, host: str) -> int:
    """How many CPUs a host has, as PCP counts them; 0: nobody knows."""
    asked = {"host": host, "metric": PER_CPU}
    rows = saved_rows(twin, "telemetry/instances", asked)
    return sum(bool(row["instname"]) for row in rows)
