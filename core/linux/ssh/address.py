"""Addresses of remote hosts: ``ssh://user@host:port``, user and port optional."""

import ipaddress
import re
from dataclasses import dataclass

from core.linux.ssh.errors import AddressError

_SCHEME = "ssh://"
_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.@+$\\-]{0,63}")
# Names in DNS or in an ssh configuration; the pattern excludes options.
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?")
_PORT = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True)
class Address:
    """Host, user and port of a login; None leaves the choice to ssh's configuration."""

    host: str
    user: str | None = None
    port: int | None = None

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{_SCHEME}{user}{host}{f':{self.port}' if self.port else ''}"


def parse_address(text: str) -> Address:
    """Parse an address; raises AddressError."""
    if not text.startswith(_SCHEME):
        raise _wrong(text, "it does not begin with ssh://")
    place = text.removeprefix(_SCHEME).removesuffix("/")
    user, at, place = place.rpartition("@")
    if ":" in user:
        raise AddressError(
            "a password in an ssh:// address is not used: give the key to ssh-agent, "
            "or name it in ~/.ssh/config"
        )
    if at and not _USER.fullmatch(user):
        raise _wrong(text, f"{user[:40]!r} is not a user")
    host, port = _place(text, place)
    return Address(host, user or None, port)


def _place(text: str, place: str) -> tuple[str, int | None]:
    literal, bracket, rest = place.removeprefix("[").partition("]")
    if place.startswith("["):
        host, colon, port = literal, rest[:1], rest[1:]
        known = bracket and _is_ipv6(host) and colon in ("", ":")
    else:
        host, colon, port = place.partition(":")
        known = bool(_NAME.fullmatch(host))
    if not known:
        raise _wrong(text, f"{host[:60]!r} is not a host")
    if colon and not (_PORT.fullmatch(port) and 0 < int(port) < 65536):
        raise _wrong(text, f"{port[:20]!r} is not a port")
    return host, int(port) if colon else None


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text or bool(_NAME.fullmatch(text.partition("%")[2]))


def _wrong(text: str, why: str) -> AddressError:
    return AddressError(
        f"{text[:80]!r} is not an address of a host ({why}): "
        "write ssh://user@host:port, user and port as needed"
    )
