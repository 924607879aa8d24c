"""Types of settings: parsers that accept a value or explain why it is invalid."""

import math
import re
import socket
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from core.linux.cgroups.errors import CgroupError
from core.linux.cgroups.roots import parse_roots
from core.settings.setting import Parser, Secret

_LENGTH_OF_TIME = re.compile(r"([0-9]{1,9})([hdwy])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "y": 365 * 24}
_WHOLE = re.compile("[+-]?[0-9]{1,30}")
_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
# with a host, without query and fragment: paths are appended to it
_URL = re.compile(r"https?://[^\s<>\"{}|\\^`?#/][^\s<>\"{}|\\^`?#]*")


def listed(text: str) -> tuple[str, ...]:
    """Return the words of a comma-separated list."""
    return tuple(word.strip().lower() for word in text.split(",") if word.strip())


def has_reader(values: Mapping[str, Any]) -> bool:
    """Whether the settings define the reader account."""
    password = values.get("reader_password")
    file = values.get("reader_password_file")
    return bool(file or (password and password.reveal()))


def hours_of(text: str) -> int | None:
    """Return the hours of a text such as ``12h`` or ``90d``; None if it is invalid."""
    match = _LENGTH_OF_TIME.fullmatch(text)
    return int(match[1]) * _HOURS[match[2]] if match else None


def without_account(service: str, name: str, url: str) -> dict[str, str]:
    """Return a URL without its account, and the account; nothing without one."""
    try:
        parts = urlsplit(url)
    except ValueError:  # refused when the setting itself is parsed
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


def absolute(path: str | Path) -> Path:
    """An absolute path, for children with another working directory."""
    return Path(path).expanduser().absolute()


def cgroup_roots(text: str) -> str:
    """Patterns of control groups."""
    try:
        parse_roots(text)
    except CgroupError as error:
        raise ValueError(str(error)) from None
    return text


def ipv4(text: str) -> str:
    """An address of a machine."""
    try:
        socket.inet_pton(socket.AF_INET, text)
    except OSError:
        raise ValueError("not an IPv4 address such as 127.0.0.1 or 0.0.0.0") from None
    return text


def address(url: str) -> str:
    """An http URL or nothing, without a slash at the end."""
    if url and not _URL.fullmatch(url):
        raise ValueError("not an address such as http://localhost:8000")
    return url.rstrip("/")


def length_of_time(text: str) -> str:
    """A day or longer."""
    if (hours_of(text) or 0) < 24:
        raise ValueError("not a length of time such as 90d, 12w or 1y (24h or more)")
    return text


def days(length_of_time: str) -> float:
    """Return a length of time such as ``90d`` in days."""
    return int(length_of_time[:-1]) * _HOURS[length_of_time[-1]] / 24


def host_names(text: str) -> str:
    """A list of host names without ports, or `*`."""
    for name in listed(text):
        if name != "*" and not _HOST.fullmatch(name):
            raise ValueError(f"{name!r} is not a host name without a port")
    return text


def origin_list(text: str) -> str:
    """A list of origins of web pages, or `*`."""
    for origin in listed(text):
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValueError(
                f"{origin!r} is not an origin such as http://localhost:3000"
            )
    return text


def network_list(text: str) -> str:
    """A list of addresses and networks."""
    for network in listed(text):
        try:
            ip_network(network)
        except ValueError:
            raise ValueError(
                f"{network!r} is not an address or network such as 127.0.0.1 or "
                "10.0.0.0/8"
            ) from None
    return text


def non_empty(text: str) -> str:
    """A text that is not empty."""
    if not text:
        raise ValueError("it is empty")
    return text


def non_empty_address(url: str) -> str:
    """An http URL."""
    return address(non_empty(url))


def secret(text: str | Secret) -> Secret:
    """A value that is not shown."""
    return text if isinstance(text, Secret) else Secret(text)


def one_of(*words: str) -> Parser:
    """One of these words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"not one of {', '.join(words)}")
        return text

    return parse


def matching(pattern: str, example: str) -> Parser:
    """A text like the example."""

    def parse(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"not like {example}")
        return text

    return parse


def whole(least: int, most: float = math.inf) -> Parser:
    """A whole number within these bounds."""

    def parse(given: str | int) -> int:
        number = int(str(given)) if _WHOLE.fullmatch(str(given)) else None
        if number is None or not least <= number <= most:
            raise ValueError(f"not a whole number {_bounds(least, most)}")
        return number

    return parse


def number(
    least: float = -math.inf, most: float = math.inf, above: float = -math.inf
) -> Parser:
    """A number within these bounds."""

    def parse(given: str | float) -> float:
        try:
            number = float(given)
        except ValueError:
            number = math.nan
        if not (least <= number <= most and number > above):
            raise ValueError(f"not a number {_bounds(least, most, above)}")
        return number

    return parse


def _bounds(least: float, most: float, above: float = -math.inf) -> str:
    low = f"above {above:g}" if above > least else f"from {least:g}"
    return low if most == math.inf else f"{low} to {most:g}"


PORT = whole(1, 65535)
BYTES = whole(0)
SECONDS = number(0.1, 365 * 86_400)
# Characters that HTTP Basic can carry: a colon would end the user name.
USER = matching(r"[A-Za-z0-9_.@~-]+", "an account name such as reader")
OPTIONAL_USER = matching(r"[A-Za-z0-9_.@~-]*", "a user name such as nobody")
