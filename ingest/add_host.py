"""Add a local or remote machine by its address: probe, describe and load it."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from core.linux.ssh.address import parse_address
from core.settings.running import pmcd_address
from core.settings.settings import Settings
from core.stores.datasets import Progress, dataset
from ingest.errors import AliasExistsError
from ingest.host_name import check_host
from ingest.load.register import Registration
from ingest.loading import load_document
from ingest.monitoring import Monitoring
from ingest.probe import probe
from ingest.remote_hosts import probe_remote_host
from ingest.schema.check import check_document
from ingest.schema.schema import ProbeDocument
from queries.names import LOCAL, is_ip, ssh_address
from queries.run import saved_rows


@dataclass(frozen=True)
class NewHost:
    """A request to add a host; ``address`` is ``ssh://…`` or ``local``.

    ``host`` is its name in the twin; if empty, the name comes from the address or from
    the machine. ``confirm`` allows replacing another machine of that name.
    """

    address: str
    alias: str = ""
    host: str = ""
    partition: str = ""
    sudo: bool = True
    confirm: bool = False


def add_host(
    settings: Settings, monitoring: Monitoring, new: NewHost, progress: Progress
) -> str:
    """Probe a machine and load its twin and plan; return its name in the twin.

    If the machine cannot be probed or described, nothing is stored. Raises
    AddressError, IngestError and what the stores raise.
    """
    where = _address(new.address)
    name = _name(settings, where, new.host)
    _check_alias(settings, new.alias, name)
    document = _probed(settings, new, name, progress)
    host = document.host
    _check_alias(settings, new.alias, host)
    registration = Registration(new.alias, where, new.partition)
    load_document(settings, monitoring, document, progress, new.confirm, registration)
    return host


def _address(text: str) -> str:
    """Return an address in its canonical spelling; raises AddressError."""
    if text == LOCAL:
        return text
    written = str(parse_address(text))
    return ssh_address(written) or written


def _name(settings: Settings, where: str, host: str) -> str | None:
    """Return the requested, known or address's name; None: ask the machine."""
    if host:
        return check_host(host)
    if where == LOCAL:
        return check_host(settings.host)
    host_part = urlsplit(where).hostname or ""
    known = [row for row in _called(settings, where) if row["by"] == "address"]
    if known:
        return str(known[0]["host"])
    return None if is_ip(host_part) else check_host(host_part)


def _check_alias(settings: Settings, alias: str, host: str | None) -> None:
    """Raise AliasExistsError if another host has the alias; a None host skips this."""
    if not alias or host is None:
        return
    for row in _called(settings, check_host(alias)):
        if row["host"] != host and row["by"] in ("hostname", "alias"):
            raise AliasExistsError(
                f"{alias} is already the {row['by']} of {row['host']}: choose another "
                "--alias"
            )


def _called(settings: Settings, name: str) -> list[dict[str, Any]]:
    """Return the hosts that have a name, and in which role (``by``)."""
    with dataset(settings, "twin") as twin:
        return saved_rows(twin, "fleet/find", {"name": name})


def _probed(
    settings: Settings, new: NewHost, host: str | None, progress: Progress
) -> ProbeDocument:
    if new.address == LOCAL:
        name = host or settings.host
        return check_document(probe(name, pmcd_address(settings), progress))
    found = probe_remote_host(settings, new.address, host, progress, new.sudo)
    return check_document(found)
