"""Keep Fuseki's files small: TDB2 never gives back the room of a replaced graph."""

import asyncio
import json
import logging
import shutil
import time
from pathlib import Path

from supertwin.accounts import fuseki_account
from supertwin.errors import MendableError
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
                await compact(settings, dataset)
            except (OSError, ValueError, MendableError) as error:
                _log.warning("%s not compacted: %s", dataset, error)
            sizes[dataset] = max(floor, bytes_on_disk(folder))
            _log.info("%s has %d bytes", dataset, sizes[dataset])


async def compact(settings: Settings, dataset: str) -> None:
    """Have the local Fuseki compact a dataset; return when it is done.

    OSError, ValueError (also TimeoutError), MendableError: it was not done.
    """
    port, account = settings.fuseki_port, fuseki_account(settings)
    path = f"/$/compact/{dataset}?deleteOld=true"
    status, body = await request(port, "POST", path, account)
    if status in (401, 403):
        raise ValueError(
            f"Fuseki refuses the account ({status}); mend SUPERTWIN_FUSEKI_USER and "
            "SUPERTWIN_FUSEKI_PASSWORD"
        )
    if status != 200:
        raise ValueError(f"Fuseki answered {status}")
    task = json.loads(body)["taskId"]
    deadline = time.monotonic() + _WITHIN
    while time.monotonic() < deadline:
        _, body = await request(port, "GET", f"/$/tasks/{task}", account)
        answer = json.loads(body)
        if "finished" in answer:
            if not answer.get("success"):
                raise ValueError("Fuseki gave up")
            return
        await asyncio.sleep(_LOOK)
    raise TimeoutError(
        f"not done in {_WITHIN:.0f} s: start Fuseki again, which then drops what is old"
    )


def drop_old(folder: Path) -> None:
    """Remove what earlier compactions of a dataset left; Fuseki must not run.

    A compaction that begins while others read may wait for them without end (Jena's
    issue 3488), and keeps the files that it was to replace. TDB2 opens the highest
    generation; one that is not complete has another name.
    """
    found = {
        int(path.name[5:]): path
        for path in folder.glob("Data-*")
        if path.name[5:].isdecimal() and path.name[5:].isascii()
    }
    for number in sorted(found)[:-1]:
        shutil.rmtree(found[number], ignore_errors=True)


def bytes_on_disk(folder: Path) -> int:
    """Return what a folder takes on the disk: TDB2's files are mostly holes."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total
