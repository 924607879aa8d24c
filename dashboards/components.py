"""The component drop-down of a host, and the IRIs of its hardware threads."""

from collections.abc import Iterator, Sequence
from typing import Any

from core.stores.results import TermRows
from dashboards.spec import Component

QUERY = "monitor/components"

# These are always listed; others only if they add a choice.
_ALWAYS = ("socket", "numa")


def read_components(rows: TermRows) -> tuple[Component, ...]:
    """The choices, in the query's order.

    Components with one thread are left out, and so are those with the same threads as
    an earlier choice. A core replaces its own caches.
    """
    choices = [_component(row) for row in rows.records() if row["component"]]
    return tuple(_distinct(choices))


def read_threads(rows: TermRows) -> frozenset[str]:
    """The IRIs of the hardware threads to which a component can be narrowed."""
    return frozenset(
        thread for row in rows.records() for thread in str(row["threads"] or "").split()
    )


def _component(row: dict[str, Any]) -> Component:
    """``id`` is the end of its IRI, after the host, such as ``cache/l3-0``."""
    iri = str(row["component"])
    instances = tuple(dict.fromkeys(str(row["instances"]).split("\n")))
    id_ = "/".join(iri.split("/")[-2:])
    return Component(id_, str(row["label"] or id_), iri, instances)


def _distinct(choices: Sequence[Component]) -> Iterator[Component]:
    cores = {frozenset(c.instances) for c in choices if c.id.startswith("core/")}
    seen: set[frozenset[str]] = set()
    for choice in choices:
        threads, kind = frozenset(choice.instances), choice.id.partition("/")[0]
        of_one_core = kind == "cache" and threads in cores
        is_distinct = len(threads) > 1 and threads not in seen and not of_one_core
        if kind in _ALWAYS or is_distinct:
            yield choice
            seen.add(threads)
