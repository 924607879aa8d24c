"""Probing another machine on the command line, which may be ended at any time."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ingest.remote.probe import Progress, probe_remote
from supertwin.settings import Settings

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def probe_far(
    settings: Settings, address: str, host: str | None, progress: Progress, sudo: bool
) -> dict[str, Any]:
    """What ``probe_remote`` says of a machine, with the settings of this installation.

    Raises AddressError, HostNameError, RemoteError.
    """
    config = settings.ssh_config
    with ended_in_order():
        return probe_remote(address, host, progress, config=config, sudo=sudo)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Whatever ends us lets the login be closed, and what was begun undone."""
    before = {number: signal.signal(number, _interrupt) for number in _ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    for number in _ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
