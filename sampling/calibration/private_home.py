"""The temporary folder of a calibration, and settings for a stack in it.

The folder of a calibration that was killed is removed later.
"""

import fcntl
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from core.linux.ports import free_port
from core.settings.setting import Secret
from core.settings.settings import LOOPBACK, Settings

_PREFIX, _LOCK = "supertwin-cost-", "lock"
# Servers of a killed calibration end by themselves, within seconds.
_TRIES, _AGAIN = 100, 0.1


@contextmanager
def private_home() -> Iterator[Path]:
    """Make a folder for a private stack; remove folders that were left behind."""
    remove_left()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    with _locked(folder):
        try:
            yield folder
        finally:
            _remove(folder)


def remove_left() -> None:
    """Remove the folders of killed calibrations: no process holds their locks."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError), path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path.parent)


def _locked(folder: Path) -> IO[str]:
    """Lock the folder before others see its lock; the kernel unlocks it at exit."""
    file = (folder / f"{_LOCK}.new").open("w")
    fcntl.flock(file, fcntl.LOCK_EX)
    Path(file.name).rename(folder / _LOCK)
    return file


def _remove(folder: Path) -> None:
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_AGAIN)


def private(settings: Settings, home: Path) -> Settings:
    """The same settings for a stack in another folder, without any server elsewhere."""
    apart = {
        "home": home,
        "pmcd": "own",
        # The model estimates the costs of PCP, also where the kernel gives processes.
        "process_source": "pcp",
        "fuseki_heap": "256m",
        "fuseki_port": free_port(LOOPBACK),
        "store_port": free_port(LOOPBACK),
    }
    urls = dict.fromkeys(("fuseki_url", "store_read_url", "store_write_url"), "")
    passwords = dict.fromkeys(("fuseki_password", "store_password"), Secret(""))
    files = dict.fromkeys(("fuseki_password_file", "store_password_file"))
    return settings.with_changes(**apart, **urls, **passwords, **files)
