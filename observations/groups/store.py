"""Imported groups in the graph, each in a named graph of its own."""

from core.stores.endpoint import Endpoint
from ingest.entailed import drop, with_entailed
from ingest.errors import NotConformingError
from ingest.shape_check import first_fault
from ingest.triples import insertion
from observations.errors import UnknownGroupError
from observations.groups.describe import describe_group
from observations.groups.figures import EventGroup
from ontology.iris import Iris
from queries.run import saved_rows

QUERY = "pmu/event-groups"


def import_group(twin: Endpoint, iris: Iris, found: EventGroup) -> None:
    """Write a group, or replace the one of this name; raises NotConformingError."""
    group = found.group
    triples = describe_group(found, iris)
    if fault := first_fault(triples, twin):
        raise NotConformingError(f"the group {group.name}", [fault])
    graph = iris.event_group_graph(group.model, group.name)
    written = insertion(with_entailed({graph: triples}, iris))
    twin.update(f"{drop(iris, graph)} ;\n{written}")


def remove_group(twin: Endpoint, iris: Iris, name: str) -> None:
    """Remove a group by model and name, such as ``skx/FLOPS_DP``.

    Raises UnknownGroupError. A role stays that another group also needs.
    """
    rows = saved_rows(twin, QUERY, {})
    known = {f"{row['pmu']}/{row['group']}": row for row in rows}
    if name not in known:
        raise UnknownGroupError(
            f"no group {name[:80]!r} was imported: `supertwin catalogue groups list` "
            "lists them as PMU/NAME"
        )
    row = known[name]
    twin.update(drop(iris, iris.event_group_graph(row["pmu"], row["group"])))
