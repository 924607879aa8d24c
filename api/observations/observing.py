"""The desk of the API, loaded in the background so that the start does not wait."""

import asyncio
from typing import TYPE_CHECKING

from anyio import to_thread

from core.settings.settings import Settings

if TYPE_CHECKING:
    from observations.session.run_manager import Desk

_LOOK_S = 1.0


class Observing:
    """Creates the desk on first use, and tends it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = asyncio.Lock()
        self._desk: Desk | None = None

    async def desk(self) -> "Desk":
        """Return the one desk of this application."""
        async with self._lock:
            if self._desk is None:
                self._desk = await to_thread.run_sync(self._made)
            return self._desk

    async def tend(self) -> None:
        """Tend the running observations until cancelled; then end them."""
        desk = await self.desk()
        try:
            while True:
                await to_thread.run_sync(desk.tend)
                await asyncio.sleep(_LOOK_S)
        finally:
            desk.close()

    def _made(self) -> "Desk":
        # Imports the validation of plans, which would add a second to the API's start,
        # and that of events, before the first one arrives.
        from observations import events  # noqa: F401
        from observations.session.run_manager import Desk

        desk = Desk(self._settings)
        desk.go_on()
        return desk
