"""Keep Fuseki's files small: TDB2 never frees the space of a replaced graph.

Fuseki copies the live data into a new generation (`Data-0002` next to `Data-0001`),
switches to it, and then waits for readers of the old one. That wait may never end: a
reader that began before the switch ends its transaction on the new generation, so the
old one counts it forever (Jena's issue 3488; seen with 5.6.0 in nearly every compaction
under a read loop). By then all data is in the new generation and all clients use it,
but the old files stay, and the next compaction queues behind this one. So a wait that
is too long is ended by a restart of Fuseki, which takes seconds; the supervisor or
service manager starts it again.
"""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import time
from pathlib import Path

from core.errors import UserError
from core.settings.accounts import fuseki_account
from core.settings.settings import Settings
from supertwin.stack.health import answers_http
from supertwin.stack.loopback import request

DATASETS = ("twin", "history")
_LOOK = 0.2
_RESTART = 50.0
_SLOWEST = 4e6  # bytes a second, a lower bound for any disk
_AT_LEAST = 60.0
# Smaller datasets are not worth compacting.
_FLOOR = 64 * 1024 * 1024
_log = logging.getLogger(__name__)


async def keep_small(settings: Settings, floor: int = _FLOOR) -> None:
    """Compact each dataset whenever it has doubled; run until cancelled."""
    sizes = dict.fromkeys(DATASETS, floor)
    while True:
        await asyncio.sleep(settings.compact_every)
        for dataset in DATASETS:
            folder = settings.home / "fuseki" / dataset
            if bytes_on_disk(folder) < 2 * sizes[dataset]:
                continue
            try:
                await compact(settings, dataset)
            except (OSError, ValueError, UserError) as error:
                _log.warning("%s not compacted: %s", dataset, error)
            sizes[dataset] = max(floor, bytes_on_disk(folder))
            _log.info("%s has %d bytes", dataset, sizes[dataset])


async def compact(
    settings: Settings, dataset: str, patience: float | None = None
) -> None:
    """Compact a dataset of the local Fuseki; return when only the new files are left.

    Readers of the old files have ``patience`` seconds to end, by default as long as a
    query may take; then Fuseki is restarted. Raises OSError, ValueError (also
    TimeoutError) or UserError if the compaction failed.
    """
    folder = settings.home / "fuseki" / dataset
    patience = settings.query_timeout if patience is None else patience
    if await _stays_held(settings.home / "fuseki", patience):
        await _start_again(settings)
    within = _AT_LEAST + bytes_on_disk(folder) / _SLOWEST
    task = await _begin(settings, dataset)
    if not await _is_finished(settings, folder, task, within, patience):
        await _start_again(settings)


async def _begin(settings: Settings, dataset: str) -> str:
    port, account = settings.fuseki_port, fuseki_account(settings)
    path = f"/$/compact/{dataset}?deleteOld=true"
    status, body = await request(port, "POST", path, account)
    if status in (401, 403):
        raise ValueError(
            f"Fuseki refuses the account ({status}); fix SUPERTWIN_FUSEKI_USER and "
            "SUPERTWIN_FUSEKI_PASSWORD"
        )
    if status != 200:
        raise ValueError(f"Fuseki answered {status}")
    return str(json.loads(body)["taskId"])


async def _is_finished(
    settings: Settings, folder: Path, task: str, within: float, patience: float
) -> bool:
    """Wait for a task; return False if it has switched and waits for readers."""
    port, account = settings.fuseki_port, fuseki_account(settings)
    started, switched = time.monotonic(), None
    while (now := time.monotonic()) - started < within:
        _, body = await request(port, "GET", f"/$/tasks/{task}", account)
        answer = json.loads(body)
        if "finished" in answer:
            if not answer.get("success"):
                raise ValueError("Fuseki gave up")
            return True
        if _is_held(folder):
            switched = switched or now
            if now - switched > patience:
                return False
        await asyncio.sleep(_LOOK)
    raise TimeoutError(f"not done in {within:.0f} s: does something write without end?")


async def _start_again(settings: Settings) -> None:
    """End Fuseki, which is then started again, and remove the old generations."""
    home = settings.home / "fuseki"
    old = _process(home)
    if old is None:
        raise ValueError(f"readers hold old files in {home}: start Fuseki again")
    _log.info("readers hold old files of Fuseki: it is restarted")
    os.kill(old, signal.SIGTERM)
    well = answers_http(
        settings.fuseki_port, "/$/ping", (200,), fuseki_account(settings)
    )
    deadline = time.monotonic() + _RESTART
    while _process(home) in (old, None) or await well() is not None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"Fuseki is not back after {_RESTART:.0f} s")
        await asyncio.sleep(_LOOK)
    for dataset in DATASETS:
        drop_old(home / dataset)


def _process(home: Path) -> int | None:
    """The process with open datasets, from TDB2's lock file."""
    for generation in _generations(home / "twin")[-1:]:
        with contextlib.suppress(OSError, ValueError):
            pid = int((generation / "tdb.lock").read_text())
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            return pid if os.fsencode(home / "fuseki.ttl") in words else None
    return None


def drop_old(folder: Path) -> None:
    """Remove the generations of a dataset that Fuseki does not use.

    TDB2 opens the highest one; an incomplete one has a different name.
    """
    for path in _generations(folder)[:-1]:
        shutil.rmtree(path, ignore_errors=True)


async def _stays_held(home: Path, patience: float) -> bool:
    """Whether an earlier compaction is stuck; waits for one that is about to end."""
    deadline = time.monotonic() + patience
    while any(_is_held(home / name) for name in DATASETS):
        if time.monotonic() > deadline:
            return True
        await asyncio.sleep(_LOOK)
    return False


def _is_held(folder: Path) -> bool:
    """Whether an old generation exists next to the one in use."""
    return len(_generations(folder)) > 1


def _generations(folder: Path) -> list[Path]:
    found = {
        int(path.name[5:]): path
        for path in folder.glob("Data-*")
        if path.name[5:].isdecimal() and path.name[5:].isascii()
    }
    return [found[number] for number in sorted(found)]


def bytes_on_disk(folder: Path) -> int:
    """Return the disk usage of a folder: TDB2's files are mostly holes."""
    total = 0
    # A folder may disappear during the walk, as in a compaction.
    for inside, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with contextlib.suppress(FileNotFoundError):
                total += Path(inside, name).lstat().st_blocks * 512
    return total
