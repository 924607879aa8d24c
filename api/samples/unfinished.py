"""Completes deletions that a crash or an error interrupted."""

import asyncio
import logging

from anyio import CapacityLimiter, to_thread

from api.services import Services
from core.errors import SuperTwinError
from core.stores.span_deletion import finish_deletions

# Imports and deletions wait for each other here, without a thread.
ONE_CHANGE = CapacityLimiter(1)
_LOG = logging.getLogger(__name__)
_PAUSE_S = 10.0


async def finish(services: Services) -> None:
    """Write back what incomplete deletions left, as soon as the store takes it."""
    work, settings = finish_deletions, services.settings
    while True:
        try:
            if await to_thread.run_sync(work, settings, limiter=ONE_CHANGE):
                _LOG.warning("samples of an incomplete deletion are written back")
        except (OSError, SuperTwinError) as error:
            _LOG.warning("samples of an incomplete deletion wait: %s", error)
        await asyncio.sleep(_PAUSE_S)
