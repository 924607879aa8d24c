"""Binds a saved query to the values of a request."""

from collections.abc import Mapping

from api.services import Services
from queries.catalogue import SavedQuery
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
