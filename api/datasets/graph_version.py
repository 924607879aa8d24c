"""The version of a dataset, which many requests ask for at once."""

import asyncio

from core.stores.fuseki import GraphStore


class GraphVersion:
    """Asks the graph store for its version, once for all requests that wait for it."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._running: asyncio.Future[str] | None = None
        self._next: asyncio.Future[str] | None = None

    async def current(self) -> str:
        """Return a version that was read after this call; raises EndpointError.

        A read that is already under way may have missed a write that the caller knows
        of. Such a caller waits for the next one.
        """
        if self._next is None:
            self._next = asyncio.ensure_future(self._read(self._running))
            self._next.add_done_callback(_retrieve)
        return await asyncio.shield(self._next)

    async def _read(self, before: asyncio.Future[str] | None) -> str:
        if before is not None:
            await asyncio.wait([before])
        self._running, self._next = self._next, None
        return await self._store.version()


def _retrieve(read: asyncio.Future[str]) -> None:
    """Mark an error as seen, as all that waited for it may have left."""
    if not read.cancelled():
        read.exception()
