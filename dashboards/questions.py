"""The queries of a dashboard to the graph, which any client can run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from core.stores.results import TermRows
from queries.binding import Scalar
from queries.catalogue import SavedQuery, saved_query

# A text is an error message of one line.
Answer = TermRows | str


@dataclass(frozen=True)
class BoundQuery:
    """A saved query with its values; ``sparql`` is the text with them bound."""

    query: str
    values: Mapping[str, Scalar | None] = field(hash=False)
    sparql: str

    @classmethod
    def of(cls, query: str | SavedQuery, values: Mapping[str, Scalar | None]) -> Self:
        """Bind a saved query; raises ParameterError."""
        saved = saved_query(query) if isinstance(query, str) else query
        return cls(saved.name, dict(values), saved.bind(values))
