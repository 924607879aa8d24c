"""Remote machines: the address of one, and an interruptible probe of it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from core.errors import MendableError
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.remote.probe import Progress, probe_remote
from queries.catalogue import saved_query
from queries.names import LOCAL

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def address_of(twin: Endpoint, host: str) -> str:
    """The address with which a host was added; raises MendableError without one."""
    rows = twin.select(saved_query("fleet/find").bind({})).values()
    found = [name for name, of, by, _ in rows if (of, by) == (host, "address")]
    if not found or found[0] == LOCAL:
        raise MendableError(
            f"no way to {host} is known: add it with `supertwin add ssh://… --host "
            f"{host}`"
        )
    return str(found[0])


def probe_far(
    settings: Settings, address: str, host: str | None, progress: Progress, sudo: bool
) -> dict[str, Any]:
    """Run ``probe_remote`` with the settings of this installation.

    Raises AddressError, HostNameError, RemoteError.
    """
    config = settings.ssh_config
    with ended_in_order():
        return probe_remote(address, host, progress, config=config, sudo=sudo)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """On a signal, end the block with an exception so that the login is closed.

    Only the main thread can handle signals; in any other thread, such as the API's, the
    block runs unprotected.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    numbers = [one for one in _ENDINGS if one != signal.SIGHUP or not nohup]
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    for number in _ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
