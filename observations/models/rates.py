"""What benchmarks measured on a host, by number of threads."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.stores.endpoint import Endpoint
from observations.models.forms import Form, machine_form
from queries.run import saved_rows

QUERY = "benchmarks/roofs"
_FLOPS, _MEMORY = "FLOPS", "DRAM"


def read_machine_form(
    twin: Endpoint, host: str, threads: Sequence[float]
) -> Form | None:
    """Return the form of a host whose rates are known for these threads, or None."""
    rows = saved_rows(twin, QUERY, {"host": host})
    peaks = _greatest(row for row in rows if str(row["unit"]).endswith(_FLOPS))
    memory = _greatest(row for row in rows if row["level"] == _MEMORY)
    if not all(_covers(rates, threads) for rates in (peaks, memory)):
        return None
    return machine_form(peaks, memory)


def _greatest(rows: Iterable[Mapping[str, Any]]) -> Mapping[int, float]:
    """Return the greatest rate for each number of threads."""
    found: dict[int, float] = defaultdict(float)
    for row in rows:
        threads = int(row["threads"])
        found[threads] = max(found[threads], float(row["value"]))
    return found


def _covers(rates: Mapping[int, float], threads: Sequence[float]) -> bool:
    """Whether rates were measured up to, and down to, these numbers of threads."""
    return len(rates) > 1 and min(rates) <= min(threads) <= max(threads) <= max(rates)
