"""The component drop-down of a host, and which of its IRIs are hardware threads."""

from collections.abc import Iterator, Sequence
from typing import Any

from core.stores.results import Rows
from dashboards.spec import Component

QUERY = "monitor/components"

# These are listed whatever they hold; others only where they tell more.
_ALWAYS = ("socket", "numa")


def read_components(rows: Rows) -> tuple[Component, ...]:
    """The choices, in the query's order.

    Left out is what holds one thread, or the same threads as what stands before it; a
    core stands for its own caches.
    """
    choices = [_component(row) for row in rows.records() if row["component"]]
    return tuple(_telling(choices))


def read_threads(rows: Rows) -> frozenset[str]:
    """The IRIs of the hardware threads that a component can be narrowed to."""
    return frozenset(
        thread for row in rows.records() for thread in str(row["threads"] or "").split()
    )


def _component(row: dict[str, Any]) -> Component:
    """``id`` is what follows the host in its IRI, such as ``cache/l3-0``."""
    iri = str(row["component"])
    instances = tuple(dict.fromkeys(str(row["instances"]).split("\n")))
    id_ = "/".join(iri.split("/")[-2:])
    return Component(id_, str(row["label"] or id_), iri, instances)


def _telling(choices: Sequence[Component]) -> Iterator[Component]:
    cores = {frozenset(c.instances) for c in choices if c.id.startswith("core/")}
    seen: set[frozenset[str]] = set()
    for choice in choices:
        threads, kind = frozenset(choice.instances), choice.id.partition("/")[0]
        of_one_core = kind == "cache" and threads in cores
        tells = len(threads) > 1 and threads not in seen and not of_one_core
        if kind in _ALWAYS or tells:
            yield choice
            seen.add(threads)
