"""Conditions for a start of the stack; checking them changes nothing."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from core.errors import DiskFullError, StateFolderError
from core.linux import ports
from core.settings import pmcd, run_as, tools
from core.settings.settings import LOOPBACK, Settings
from supertwin.errors import CannotListenError, PortTakenError


def preflight(settings: Settings) -> None:
    """Raise UserError for the first problem that prevents a start."""
    _home(settings.home)
    _disk(settings.home, settings.min_free_bytes)
    run_as.other_user(settings)
    for title, address, port, setting in _ports(settings):
        _port(title, address, port, setting)
    tools.setpriv()
    if not settings.fuseki_url:
        tools.java()
        tools.fuseki_extension()
    if not (settings.store_read_url and settings.store_write_url):
        tools.store()
    if pmcd.choose(settings)[1]:
        tools.pmcd()


def _ports(settings: Settings) -> Iterator[tuple[str, str, int, str]]:
    yield "API", settings.bind, settings.api_port, "API_PORT"
    if not settings.fuseki_url:
        yield "Fuseki", LOOPBACK, settings.fuseki_port, "FUSEKI_PORT"
    if not (settings.store_read_url and settings.store_write_url):
        yield "VictoriaMetrics", LOOPBACK, settings.store_port, "STORE_PORT"


def _port(title: str, address: str, port: int, setting: str) -> None:
    error = ports.try_bind(address, port)
    if error is None:
        return
    change = f"set SUPERTWIN_{setting} to another port"
    if ports.is_taken(error):
        by = ports.holder(port) or "another user's process"
        raise PortTakenError(
            f"port {port} ({title}) is taken by {by}: stop it, or {change}"
        )
    raise CannotListenError(
        f"{title} cannot listen on {address}:{port} ({error.strerror}): {change}"
        + ("" if address == LOOPBACK else ", or fix SUPERTWIN_BIND")
    )


def _home(home: Path) -> None:
    if home.exists() and not home.is_dir():
        raise StateFolderError(f"{home} is not a folder: set SUPERTWIN_HOME to one")
    if not os.access(_nearest(home), os.W_OK | os.X_OK):
        raise StateFolderError(
            f"{home} cannot be written: fix its permissions, or set SUPERTWIN_HOME "
            "to another folder"
        )


def _disk(home: Path, wanted: int) -> None:
    free = shutil.disk_usage(_nearest(home)).free
    if free < wanted:
        raise DiskFullError(
            f"the disk is full: {free / 2**20:.0f} MiB are free for {home}, "
            f"{wanted / 2**20:.0f} are needed: free some, set SUPERTWIN_HOME to a "
            "folder on another disk, or lower SUPERTWIN_MIN_FREE_BYTES"
        )


def _nearest(path: Path) -> Path:
    """Return the folder itself, or the nearest one above it that exists."""
    return next(folder for folder in (path, *path.parents) if folder.is_dir())
