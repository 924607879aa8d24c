"""Copy a snapshot of VictoriaMetrics so that a store can start from it."""

import re
import shutil
from pathlib import Path
from typing import Any

import httpx

from core.errors import NotRunningError
from core.settings.accounts import snapshot_key, store_read_account
from core.settings.settings import Settings
from core.stores.errors import StoreError
from supertwin.errors import SnapshotKeyError

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
        name = _snapshot_request(client, settings, "create")["snapshot"]
        try:
            source = settings.home / "store" / "snapshots" / name
            shutil.copytree(source, target, copy_function=shutil.copyfile)
        finally:
            _snapshot_request(client, settings, "delete", snapshot=name)
        found = _VERSION.search(client.get("/metrics").text)
    # Debian's package reports no version.
    return (found and found[1]) or "unknown"


def _snapshot_request(
    client: httpx.Client, settings: Settings, verb: str, **words: str
) -> dict[str, Any]:
    try:
        form = {"authKey": snapshot_key(settings), **words}
        answer = client.post(f"/snapshot/{verb}", data=form)
        found: dict[str, Any] = answer.raise_for_status().json()
    except httpx.ConnectError:
        raise NotRunningError(
            f"no VictoriaMetrics answers at {settings.store_read}: start the stack "
            "(`supertwin up`)"
        ) from None
    except httpx.HTTPStatusError as error:
        raise SnapshotKeyError(
            "VictoriaMetrics refuses its snapshot key "
            f"({error.response.status_code}): `supertwin down`, then `supertwin up`"
        ) from None
    except (httpx.HTTPError, ValueError) as error:
        raise StoreError(
            f"VictoriaMetrics made no snapshot ({error}): see log/victoria-metrics.log"
        ) from error
    if found.get("status") != "ok":
        raise StoreError(
            f"VictoriaMetrics made no snapshot ({found}): see log/victoria-metrics.log"
        )
    return found
