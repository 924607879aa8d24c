"""Addresses of network interfaces, used to reach or identify a machine."""

from collections import defaultdict
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

from ingest.errors import ProbeSourceError
from ingest.gaps import report_gap
from ingest.sources.files import read_number, read_text, read_value
from ingest.sources.machine import Machine

_TABLE = "proc/self/net/if_inet6"
_EVERYWHERE = "00"  # the global scope; others are limited to a link or to the machine
_PERMANENT = 0  # NET_ADDR_PERM of the kernel's netdevice.h


def read_addresses(machine: Machine, folder: Path) -> dict[str, Any]:
    """``permanent_mac`` and ``ipv6`` of an interface's folder, as far as known.

    A ``permanent_mac`` of None means that the address was set, generated or taken from
    another card, so it does not identify a machine.
    """
    found: dict[str, Any] = {}
    assigned = read_number(folder / "addr_assign_type")
    own = read_value(folder / "bonding_slave" / "perm_hwaddr")
    if own or assigned is not None:
        mac = read_value(folder / "address") if assigned == _PERMANENT else None
        found["permanent_mac"] = own or mac
    if addresses := _ipv6(machine).get(folder.name):
        found["ipv6"] = addresses
    return found


def _ipv6(machine: Machine) -> dict[str, list[str]]:
    try:
        return parse_ipv6(read_text(machine.root / _TABLE))
    except ProbeSourceError:
        return {}


def parse_ipv6(text: str) -> dict[str, list[str]]:
    """The kernel's table of IPv6 addresses by interface, in their shortest form.

    Malformed lines and link-local addresses are left out.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        words = line.split()
        try:
            address = IPv6Address(bytes.fromhex(words[0]))
            scope, name = words[3], words[5]
        except (ValueError, IndexError):
            report_gap("a line of /proc/net/if_inet6", line, "an IPv6 address")
            continue
        if scope == _EVERYWHERE:
            found[name].append(address.compressed)
    return dict(found)
