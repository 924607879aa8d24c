"""Remote machines: the address of one, and an interruptible probe of it."""

from typing import Any

from core.linux.signals import signals_as_interrupt
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ingest.errors import NoAddressError
from ingest.remote.probe import Progress, probe_remote
from queries.catalogue import saved_query
from queries.names import LOCAL


def address_of(twin: Endpoint, host: str) -> str:
    """The address with which a host was added; raises NoAddressError without one."""
    rows = twin.select(saved_query("fleet/find").bind({})).values()
    found = [name for name, of, by, _ in rows if (of, by) == (host, "address")]
    if not found or found[0] == LOCAL:
        raise NoAddressError(
            f"no ssh address is known for {host}: add it with `supertwin add ssh://… "
            f"--host {host}`"
        )
    return str(found[0])


def probe_remote_host(
    settings: Settings, address: str, host: str | None, progress: Progress, sudo: bool
) -> dict[str, Any]:
    """Run ``probe_remote`` with the settings of this installation.

    Raises AddressError, HostNameError, RemoteError.
    """
    config = settings.ssh_config
    with signals_as_interrupt():
        return probe_remote(address, host, progress, config=config, sudo=sudo)
