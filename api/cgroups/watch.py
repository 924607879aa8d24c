"""Describes control groups soon after the bridge's list changes."""

import asyncio
import json
import logging
import time
from pathlib import Path

from anyio import to_thread

from api.services import Services
from core.errors import SuperTwinError
from core.linux.cgroups.errors import CgroupError
from core.linux.cgroups.ledger import LEDGER_FILE, Ledger, read_ledger
from core.settings.settings import Settings
from core.stores.datasets import dataset, writing
from core.stores.endpoint import Endpoint
from sampling.cgroup_twins import CgroupChange, CgroupTwins
from sampling.plan_file.notify import notify
from sampling.sources.cgroup_metrics import DOMAIN

# The longest delay in noticing a change of the list, and of what is sampled.
LOOK_S, AGAIN_S = 0.3, 5.0
_TIMEOUT = 20.0
_log = logging.getLogger(__name__)


async def follow_cgroups(services: Services) -> None:
    """Follow the bridge's list until cancelled.

    If the graph store is unreachable, nothing is lost: the list is read again later.
    """
    settings, logged, seen, read_at = services.settings, "", 0, 0.0
    path = settings.home / "bridge" / LEDGER_FILE
    with dataset(settings, "twin", _TIMEOUT) as twin:
        twins = CgroupTwins(twin, services.iris, settings.host, DOMAIN)
        while True:
            changed = _changed(path)
            if changed and (changed != seen or time.monotonic() - read_at >= AGAIN_S):
                read_at = time.monotonic()
                try:
                    await to_thread.run_sync(_write, settings, twin, twins, path)
                    seen, logged = changed, ""
                except (OSError, SuperTwinError) as error:
                    if logged != str(error):
                        logged = str(error)
                        _log.warning("control groups: %s", logged)
            await asyncio.sleep(LOOK_S)


def _write(settings: Settings, twin: Endpoint, twins: CgroupTwins, path: Path) -> None:
    ledger = _read(path)
    if (change := twins.pending(ledger)) is None:
        return
    with writing(settings, settings.host, _log.info):
        if change.over:
            _write_and_free(settings, twin, twins, change)
        else:
            twins.write(change)


def _write_and_free(
    settings: Settings, twin: Endpoint, twins: CgroupTwins, change: CgroupChange
) -> None:
    # Imports the validation of plans, which would add a second to the API's start.
    from sampling.plans.changes import freeing

    with freeing(settings, settings.host, change.over, twin, _log.warning):
        twins.write(change)
        notify(settings.home / "bridge")


def _read(path: Path) -> Ledger:
    try:
        return read_ledger(json.loads(path.read_bytes()))
    except ValueError as error:
        raise CgroupError(f"{path} cannot be read: {error}") from None


def _changed(path: Path) -> int:
    """Return when the list was written, in ns; 0 if there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
