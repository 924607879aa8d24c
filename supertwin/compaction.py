"""Keep Fuseki's files small: TDB2 never gives back the room of a replaced graph."""

import asyncio
import json
import logging
import time
from pathlib import Path

from supertwin.loopback import request
from supertwin.settings import Settings

DATASETS = ("twin", "history")
_EVERY = 600.0
_LOOK = 1.0
_WITHIN = 1800.0
# Below this a dataset is not worth the work.
_FLOOR = 256 * 1024 * 1024
_log = logging.getLogger(__name__)


async def keep_small(
    settings: Settings, every: float = _EVERY, floor: int = _FLOOR
) -> None:
    """Compact each dataset whenever it has doubled; run until cancelled."""
    sizes = dict.fromkeys(DATASETS, floor)
    while True:
        await asyncio.sleep(every)
        for dataset in DATASETS:
            folder = settings.home / "fuseki" / dataset
            if bytes_on_disk(folder) < 2 * sizes[dataset]:
                continue
            try:
                await compact(settings.fuseki_port, dataset)
            except (OSError, ValueError) as error:
                _log.warning("%s not compacted: %s", dataset, error)
            sizes[dataset] = max(floor, bytes_on_disk(folder))
            _log.info("%s has %d bytes", dataset, sizes[dataset])


async def compact(port: int, dataset: str) -> None:
    """Have Fuseki compact a dataset; return when it is done.

    OSError, ValueError (also TimeoutError): it was not done.
    """
    path = f"/$/compact/{dataset}?deleteOld=true"
    status, body = await request(port, "POST", path)
    if status != 200:
        raise ValueError(f"Fuseki answered {status}")
    task = json.loads(body)["taskId"]
    deadline = time.monotonic() + _WITHIN
    while time.monotonic() < deadline:
        _, body = await request(port, "GET", f"/$/tasks/{task}")
        answer = json.loads(body)
        if "finished" in answer:
            if not answer.get("success"):
                raise ValueError("Fuseki gave up")
            return
        await asyncio.sleep(_LOOK)
    raise TimeoutError(f"not done in {_WITHIN:.0f} s")


def bytes_on_disk(folder: Path) -> int:
    """Return what a folder takes on the disk: TDB2's files are mostly holes."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total
