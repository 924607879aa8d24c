"""Starts commands on this machine, where they outlive SuperTwin, or over ssh."""

import pwd
from contextlib import AbstractContextManager
from pathlib import Path

from core.linux.ssh.address import parse_address
from core.settings.settings import Settings
from core.stores.datasets import dataset
from ingest.remote_hosts import address_of
from observations.launch import RunnerHandle, inherited_environment
from observations.local_runner import local_runner
from observations.record import RunRequest
from observations.remote_runner import remote_runner
from observations.session.repetition import PROGRAM


def start_program(
    settings: Settings, run_request: RunRequest, folder: Path
) -> AbstractContextManager[RunnerHandle]:
    """Start the program of a run's folder on its host, or follow it if it runs.

    Raises NoAddressError, and RemoteLoginError.
    """
    if run_request.spec.host == settings.host:
        environment = inherited_environment()
        return local_runner(folder, PROGRAM, environment, run_request.user)
    with dataset(settings, "twin") as twin:
        address = parse_address(address_of(twin, run_request.spec.host))
    program = (folder / PROGRAM).read_bytes()
    return remote_runner(program, address, settings.ssh_config)


def uid_of(run_request: RunRequest) -> int | None:
    """Return the user id that runs the command here; None if it is ours."""
    return pwd.getpwnam(run_request.user).pw_uid if run_request.user else None
