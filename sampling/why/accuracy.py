"""How accurate the counters behind an answer of ``/why`` are, if measured."""

from collections.abc import Collection
from itertools import groupby
from typing import Any

from core.stores.clients import Clients
from queries.catalogue import saved_query
from sampling.events.event import PmuEvent

_QUERY = "pmu/accuracy"

Row = dict[str, Any]


async def accuracy_of(
    clients: Clients, host: str, metrics: Collection[str]
) -> str | None:
    """A sentence about each event, given PCP's metric of its value; None without any.

    It uses measurements on this host, or else on another one with the same PMU.
    """
    text = saved_query(_QUERY).bind({})
    answer = await clients.graph.select(text)
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.values()]
    wanted_rows = [
        row for row in rows if PmuEvent(row["pmu"], row["event"]).value in metrics
    ]
    found = groupby(wanted_rows, lambda row: (row["pmu"], row["event"]))
    told = [_sentence(host, list(group)) for _, group in found]
    return "; ".join(told) or None


def _sentence(host: str, rows: list[Row]) -> str:
    own = [row for row in rows if row["host"] == host] or rows
    errors = [float(row["error"]) for row in own]
    worst = max(own, key=lambda row: float(row["error"]))
    where = "here" if worst["host"] == host else f"on {worst['host'] or 'another host'}"
    return (
        f"{worst['pmu']}::{worst['event']} was {sum(errors) / len(errors):.2%} off in "
        f"{len(own)} kernels of likwid-bench, {max(errors):.2%} at most "
        f"({worst['kernel']}), measured {where}"
    )
