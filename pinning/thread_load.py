"""The current load of each hardware thread, as on the monitor dashboard."""

import math
import time

from core.stores.clients import Clients
from core.stores.fuseki import Row
from ontology.selectors import selector, series_name
from queries.catalogue import saved_query

# The monitor dashboard's query, so that its heat map and the drawing agree.
_QUERY = "monitor/threads"


_METRIC = "kernel.percpu.cpu.idle"


# A thread has a value if two samples are in this window (seconds).
_NEWEST = 10.0


async def busy_threads(clients: Clients, host: str) -> dict[str, float | None]:
    """The load of each sampled thread, by its IRI; raises StoreError."""
    return await by_thread(clients, host, await sampled(clients, host))


async def by_thread(
    clients: Clients, host: str, rows: list[Row]
) -> dict[str, float | None]:
    busy = await _busy(clients, host, rows) if rows else {}
    return {iri: busy.get(name) for name, iri in threads(rows).items()}


def threads(rows: list[Row]) -> dict[str, str]:
    return {row["instname"].value: row["component"].value for row in rows}


async def sampled(clients: Clients, host: str) -> list[Row]:
    query = saved_query("telemetry/sampled").bind({"host": host, "metric": _METRIC})
    return [row for row in await clients.graph.rows(query) if "instname" in row]


async def _busy(clients: Clients, host: str, rows: list[Row]) -> dict[str, float]:
    window = max(_NEWEST, *(3 * float(row["period"].value) for row in rows))
    series = selector(series_name(_METRIC), {"hostname": host})
    query = _expression().replace("$series", f"{series}[{window:.3f}s]")
    end = f"{time.time() + 1:.3f}"
    parameters = {"query": query, "time": end, "nocache": "1"}
    answer = await clients.store.result("/api/v1/query", parameters)
    shares = {one["metric"].get("instname"): float(one["value"][1]) for one in answer}
    return {name: share for name, share in shares.items() if math.isfinite(share)}


def _expression() -> str:
    """The expression of the first panel of the monitor's query."""
    panels = saved_query(_QUERY).panels
    return str(panels[0]["expression"])
