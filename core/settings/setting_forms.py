"""The forms that settings have: what is taken, and what is said of the rest."""

import re
import socket
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field

from core.linux.cgroups.errors import CgroupError
from core.linux.cgroups.roots import parse_roots

_LENGTH_OF_TIME = re.compile(r"([0-9]{1,9})([hdwy])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "y": 365 * 24}
_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
# with a host, without a query or a fragment: paths are put behind it
_URL = re.compile(r"https?://[^\s<>\"{}|\\^`?#/][^\s<>\"{}|\\^`?#]*")


def listed(text: str) -> tuple[str, ...]:
    """Return the words of a list separated by commas."""
    return tuple(word.strip().lower() for word in text.split(",") if word.strip())


def has_reader(values: Mapping[str, Any]) -> bool:
    """Whether settings name an account that may read."""
    password = values.get("reader_password")
    file = values.get("reader_password_file")
    return bool(file or (password and password.get_secret_value()))


def hours_of(text: str) -> int | None:
    """Return the hours of a text such as ``12h`` or ``90d``; None where it is none."""
    match = _LENGTH_OF_TIME.fullmatch(text)
    return int(match[1]) * _HOURS[match[2]] if match else None


def without_account(service: str, name: str, url: str) -> dict[str, str]:
    """Return an address without its account, and the account; nothing without one."""
    try:
        parts = urlsplit(url)
    except ValueError:  # refused in its turn
        return {}
    account, at, place = parts.netloc.rpartition("@")
    if not at:
        return {}
    user, _, password = account.partition(":")
    return {
        name: parts._replace(netloc=place).geturl(),
        f"{service}_user": unquote(user),
        f"{service}_password": unquote(password),
    }


def _absolute(path: Path) -> Path:
    """Keep the same folder when a child runs elsewhere."""
    return path.expanduser().absolute()


def _roots(text: str) -> str:
    try:
        parse_roots(text)
    except CgroupError as error:
        raise ValueError(str(error)) from None
    return text


def _ipv4(text: str) -> str:
    try:
        socket.inet_pton(socket.AF_INET, text)
    except OSError:
        raise ValueError("not an IPv4 address such as 127.0.0.1 or 0.0.0.0") from None
    return text


def _url(url: str) -> str:
    """Refuse what is no http address; a slash at the end would double later."""
    if url and not _URL.fullmatch(url):
        raise ValueError("not an address such as http://localhost:8000")
    return url.rstrip("/")


def _length_of_time(text: str) -> str:
    if (hours_of(text) or 0) < 24:
        raise ValueError("not a length of time such as 90d, 12w or 1y (24h or more)")
    return text


def days(length_of_time: str) -> float:
    """Return a length of time such as ``90d`` in days."""
    return int(length_of_time[:-1]) * _HOURS[length_of_time[-1]] / 24


def _hosts(text: str) -> str:
    for name in listed(text):
        if name != "*" and not _HOST.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a host without a port")
    return text


def _origins(text: str) -> str:
    for origin in listed(text):
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValueError(f"{origin!r} is no origin such as http://localhost:3000")
    return text


def _networks(text: str) -> str:
    for network in listed(text):
        try:
            ip_network(network)
        except ValueError:
            raise ValueError(
                f"{network!r} is not an address or network such as 127.0.0.1 or "
                "10.0.0.0/8"
            ) from None
    return text


Port = Annotated[int, Field(ge=1, le=65535)]
Bytes = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0.1, le=365 * 86_400)]
# What HTTP's Basic can carry everywhere: a colon would end the user's name.
User = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.@~-]+$")]
OptionalUser = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.@~-]*$")]
Folder = Annotated[Path, AfterValidator(_absolute)]
Ipv4 = Annotated[str, AfterValidator(_ipv4)]
Networks = Annotated[str, AfterValidator(_networks)]
Url = Annotated[str, AfterValidator(_url)]
LengthOfTime = Annotated[str, AfterValidator(_length_of_time)]
Hosts = Annotated[str, AfterValidator(_hosts)]
Origins = Annotated[str, AfterValidator(_origins)]
CgroupRoots = Annotated[str, AfterValidator(_roots)]
