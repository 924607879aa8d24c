"""How many triples each named graph of a dataset has."""

import asyncio
from collections.abc import Mapping

from core.stores.errors import EndpointTimeoutError
from core.stores.fuseki import GraphStore
from core.stores.scope import current_scope

_QUERY = """SELECT ?graph (COUNT(*) AS ?triples) {
  GRAPH ?graph { ?s ?p ?o }
} GROUP BY ?graph ORDER BY ?graph"""


class GraphCounts:
    """Counts the triples of each named graph once for each version of a dataset.

    Counts for a token with a scope are not kept.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._lock = asyncio.Lock()
        self._version = ""
        self._counts: Mapping[str, int] | None = None

    async def read(self) -> Mapping[str, int] | None:
        """Return triples by graph; None if counting takes too long.

        Raises EndpointError.
        """
        if current_scope():
            return await self._counted()
        async with self._lock:
            version = await self._store.version()
            if not version or version != self._version:
                self._counts = await self._counted()
                self._version = version
            return self._counts

    async def _counted(self) -> Mapping[str, int] | None:
        try:
            rows = await self._store.rows(_QUERY)
        except EndpointTimeoutError:
            return None
        return {row["graph"].value: int(row["triples"].value) for row in rows}
