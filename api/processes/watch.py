"""Follows named processes: binds each name to the process that currently runs."""

import asyncio
import logging
import time
from datetime import UTC, datetime

from anyio import to_thread

from api.services import Services
from core.stores.datasets import dataset
from core.stores.endpoint import Endpoint
from core.stores.errors import EndpointError
from ingest.errors import IngestError
from ingest.named_processes import NamedProcess, read_named, rebind

# The longest delay in noticing the end of a process, and a new name.
LOOK_S, READ_S = 1.0, 5.0
_log = logging.getLogger(__name__)


async def follow(services: Services) -> None:
    """Follow the named processes of this machine until cancelled.

    If the graph store is unreachable, nothing is lost: changes are noticed when it is
    back, with the processes' own start times.
    """
    with dataset(services.settings, "twin", timeout=5) as twin:
        known, read_at, logged = list[NamedProcess](), 0.0, ""
        while True:
            try:
                if time.monotonic() - read_at >= READ_S:
                    read_at = time.monotonic()
                    known = await to_thread.run_sync(
                        read_named, twin, services.iris, services.settings.host
                    )
                if known:
                    known = await to_thread.run_sync(_rebind, twin, services, known)
            except (EndpointError, IngestError) as error:
                if logged != str(error):
                    logged = str(error)
                    _log.warning("named processes: %s", logged)
            await asyncio.sleep(LOOK_S)


def _rebind(
    twin: Endpoint, services: Services, known: list[NamedProcess]
) -> list[NamedProcess]:
    host = services.settings.host
    return rebind(twin, services.iris, host, known, datetime.now(UTC))
