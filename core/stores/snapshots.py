"""Snapshots of the local VictoriaMetrics."""

from typing import Any

import httpx

from core.errors import NotRunningError
from core.settings.accounts import store_key
from core.settings.settings import Settings
from core.stores.errors import SnapshotKeyError, StoreError


def snapshot_request(
    client: httpx.Client, settings: Settings, verb: str, **words: str
) -> dict[str, Any]:
    """Create or delete a snapshot; all data in memory is on disk before it exists.

    Raises NotRunningError, SnapshotKeyError and StoreError.
    """
    try:
        form = {"authKey": store_key(settings, "snapshot"), **words}
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
