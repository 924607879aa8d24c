"""Copy a snapshot of VictoriaMetrics so that a store can start from it."""

import re
import shutil
from pathlib import Path

import httpx

from core.settings.accounts import store_read_account
from core.settings.settings import Settings
from core.stores.series_writing import writing
from core.stores.snapshots import snapshot_request

# VictoriaMetrics first writes all data in memory to disk.
_TIMEOUT = httpx.Timeout(600.0, connect=5.0)
_VERSION = re.compile(r'vm_app_version\{[^}]*short_version="([^"]*)"')


def copy_snapshot(settings: Settings, target: Path) -> str:
    """Copy all current series into a new folder; return VictoriaMetrics' version.

    The snapshot is a folder of links to immutable files; it is deleted afterwards.
    """
    client = httpx.Client(
        auth=store_read_account(settings),
        base_url=settings.store_read,
        timeout=_TIMEOUT,
        trust_env=False,
    )
    with client:
        # While a span is deleted, samples around it are not in the store.
        with writing(settings):
            name = snapshot_request(client, settings, "create")["snapshot"]
        try:
            source = settings.home / "store" / "snapshots" / name
            shutil.copytree(source, target, copy_function=shutil.copyfile)
        finally:
            snapshot_request(client, settings, "delete", snapshot=name)
        found = _VERSION.search(client.get("/metrics").text)
    # Debian's package reports no version.
    return (found and found[1]) or "unknown"
