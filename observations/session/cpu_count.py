"""Counts the CPUs of a host."""

from core.stores.endpoint import Endpoint
from ontology.limits import PER_CPU
from queries.run import saved_rows


def count_cpus(twin: Endpoint, host: str) -> int:
    """Return the number of a host's CPUs as PCP counts them; 0 if unknown."""
    asked = {"host": host, "metric": PER_CPU}
    rows = saved_rows(twin, "telemetry/instances", asked)
    return sum(bool(row["instname"]) for row in rows)
