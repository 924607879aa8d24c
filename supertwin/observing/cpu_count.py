"""How many CPUs a host has."""

from ontology.limits import PER_CPU
from queries.asking import saved_rows
from queries.endpoint import Endpoint


def count_cpus(twin: Endpoint, host: str) -> int:
    """How many CPUs a host has, as PCP counts them; 0: nobody knows."""
    asked = {"host": host, "metric": PER_CPU}
    rows = saved_rows(twin, "telemetry/instances", asked)
    return sum(bool(row["instname"]) for row in rows)
