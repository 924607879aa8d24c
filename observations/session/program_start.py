"""Starts commands that SuperTwin runs: locally, where they outlive it, or over ssh."""

import os
import pwd
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from core.linux.ssh.address import parse_address
from core.settings.settings import Settings
from core.stores.datasets import dataset
from ingest.remote_hosts import address_of
from observations.launch import RunnerEvent, RunnerHandle
from observations.local_runner import local_runner
from observations.remote_runner import remote_runner
from observations.session.repetition import PROGRAM
from observations.session.run_request import RunRequest


@contextmanager
def start_program(
    settings: Settings, run_request: RunRequest, folder: Path
) -> Iterator[RunnerHandle]:
    """Start the program of a run's folder on its host, or follow it if it runs.

    Raises NoAddressError, and RemoteLoginError.
    """
    if run_request.spec.host == settings.host:
        with local_runner(folder, PROGRAM, _environment(), run_request.user) as running:
            yield running
        return
    with dataset(settings, "twin") as twin:
        address = parse_address(address_of(twin, run_request.spec.host))
    with remote_runner(
        (folder / PROGRAM).read_bytes(), address, settings.ssh_config
    ) as running:
        yield running


def uid_of(run_request: RunRequest) -> int | None:
    """Return the user id that runs the command here; None if it is ours."""
    return pwd.getpwnam(run_request.user).pw_uid if run_request.user else None


def is_alive(started: RunnerEvent) -> bool:
    """Whether the process that a runner on this machine started still exists."""
    try:
        stat = Path(f"/proc/{started['pid']}/stat").read_bytes()
        ticks = int(stat.rpartition(b") ")[2].split()[19])
        return bool(ticks == started["start_ticks"])
    except (OSError, KeyError, IndexError, ValueError):  # nothing was started
        return False


def _environment() -> Mapping[str, str]:
    """Return the inherited environment without our settings; some are secret."""
    return {k: v for k, v in os.environ.items() if not k.startswith("SUPERTWIN_")}
