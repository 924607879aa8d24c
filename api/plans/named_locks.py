"""Serialises the changes of each host; different hosts do not wait for each other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class NamedLocks:
    """Locks by name; each exists only while a task holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: dict[str, int] = {}

    @asynccontextmanager
    async def take(self, name: str) -> AsyncIterator[None]:
        """Wait until no other block of this name runs."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        self._users[name] = self._users.get(name, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name], self._locks[name]
