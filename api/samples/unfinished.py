"""Completes deletions that an earlier process of the API did not."""

import asyncio
import logging

from anyio import to_thread

from api.services import Services
from core.errors import SuperTwinError
from core.stores.span_deletion import finish_deletions

_LOG = logging.getLogger(__name__)
_PAUSE_S = 10.0


async def finish(services: Services) -> None:
    """Write back what crashed deletions left, as soon as the store takes it."""
    while True:
        try:
            if await to_thread.run_sync(finish_deletions, services.settings):
                _LOG.warning("samples of a deletion that had crashed are written back")
            return
        except (OSError, SuperTwinError) as error:
            _LOG.warning("a deletion that had crashed waits: %s", error)
        await asyncio.sleep(_PAUSE_S)
