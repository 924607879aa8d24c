"""The run manager of the API, loaded in the background so that the start does not
wait.
"""

import asyncio
from typing import TYPE_CHECKING

from anyio import to_thread

from core.settings.settings import Settings

if TYPE_CHECKING:
    from observations.session.run_manager import RunManager

_LOOK_S = 1.0


class RunManagerService:
    """Creates the run manager on first use, and maintains its sessions."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = asyncio.Lock()
        self._manager: RunManager | None = None

    async def manager(self) -> "RunManager":
        """Return the one run manager of this application."""
        async with self._lock:
            if self._manager is None:
                self._manager = await to_thread.run_sync(self._create)
            return self._manager

    async def maintain(self) -> None:
        """Maintain the sessions until cancelled; then close the manager."""
        manager = await self.manager()
        try:
            while True:
                await to_thread.run_sync(manager.maintain)
                await asyncio.sleep(_LOOK_S)
        finally:
            manager.close()

    def _create(self) -> "RunManager":
        # Imports the validation of plans and events, which would add a second to the
        # API's start.
        from observations.session.run_manager import RunManager

        manager = RunManager(self._settings)
        manager.resume()
        return manager
