"""Probing another machine on the command line, which may be ended at any time."""

import signal
from typing import Any

from ingest.remote import Progress, probe_remote
from supertwin.settings import Settings


def probe_far(
    settings: Settings, address: str, host: str | None, progress: Progress, sudo: bool
) -> dict[str, Any]:
    """What ``probe_remote`` says of a machine, with the settings of this installation.

    Raises AddressError, HostNameError, RemoteError.
    """
    # Its login is closed and its copy removed, however we are ended.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    return probe_remote(address, host, progress, config=settings.ssh_config, sudo=sudo)
