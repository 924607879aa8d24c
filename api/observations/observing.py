"""The desk of the API: loaded beside its start, which need not wait for it."""

import asyncio
from typing import TYPE_CHECKING

from anyio import to_thread

from core.settings.settings import Settings

if TYPE_CHECKING:
    from observations.session.run_manager import Desk

_LOOK_S = 1.0


class Observing:
    """Gives the desk to whoever asks, and tends it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = asyncio.Lock()
        self._desk: Desk | None = None

    async def desk(self) -> "Desk":
        """The one desk of this application."""
        async with self._lock:
            if self._desk is None:
                self._desk = await to_thread.run_sync(self._made)
            return self._desk

    async def tend(self) -> None:
        """Look after what runs until cancelled; then end it."""
        desk = await self.desk()
        try:
            while True:
                await to_thread.run_sync(desk.tend)
                await asyncio.sleep(_LOOK_S)
        finally:
            desk.close()

    def _made(self) -> "Desk":
        # With all that validates a plan: a second that the API's start need not take.
        # And with what looks at what is told of runs, before the first is.
        from observations import events  # noqa: F401
        from observations.session.run_manager import Desk

        desk = Desk(self._settings)
        desk.go_on()
        return desk
