"""Run saved queries on a graph store."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.stores.endpoint import Endpoint
from queries.binding import Scalar
from queries.catalogue import saved_query

Row = dict[str, Any]


def saved_rows(
    endpoint: Endpoint, name: str, values: Mapping[str, Scalar | None] | None = None
) -> list[Row]:
    """The rows of a saved query with these parameters, as dicts by column.

    Raises EndpointError, ParameterError and UnknownQueryError.
    """
    return endpoint.table(saved_query(name).bind(values or {})).records()


def saved_rows_for_each(
    endpoint: Endpoint, name: str, values: Sequence[Mapping[str, Scalar | None]]
) -> list[Row]:
    """The rows for several sets of parameters (at least one), in one query.

    A row that matches two of the sets is returned twice.
    """
    return endpoint.table(saved_query(name).bind_each(values)).records()
