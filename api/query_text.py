"""Binds a saved query to the values of a request."""

from collections.abc import Mapping

from api.services import Services
from queries.catalogue import SavedQuery, saved_query
from queries.hosts import known_hosts, unknown_host
from queries.names import host_queries
from queries.run_ids import bind_runs, group_query, with_run_iris


async def query_text(
    services: Services, query: SavedQuery, given: Mapping[str, str]
) -> str:
    """Return the bound SPARQL; the runs of a group are looked up in the graph.

    Raises ParameterError and EndpointError.
    """
    values = with_run_iris(query, services.iris, given)
    group = group_query(query, values)
    rows = await services.graph.rows(group) if group else []
    return bind_runs(query, values, [row["run"].value for row in rows])


async def check_host(
    services: Services, query: SavedQuery, given: Mapping[str, str]
) -> None:
    """Raise NotFoundError for a host that the query cannot have rows about."""
    host = given.get("host") if "host" in query.params else None
    if not host:
        return
    for name in host_queries(query):
        asked = saved_query(name)
        is_past = asked.dataset == "history"
        store = services.history if is_past else services.graph
        if (await store.table(asked.bind({"host": host}))).rows:
            return
    raise unknown_host(host, await known_hosts(services.graph))
