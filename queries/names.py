"""Names of a host: hostname, alias, IP addresses, and the address it was added by.

Pure: the rows of `fleet/find` in, one host out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from queries.catalogue import SavedQuery
from queries.errors import AmbiguousHostError, UnknownHostError
from queries.natural_order import natural

LOCAL = "local"
_SSH_PORT = 22
# The first kind that matches decides, so no address hides another host's name.
_ORDER = ("hostname", "alias", "address", "IPv4", "IPv6")


@dataclass(frozen=True)
class ResolvedHost:
    """A host, its node, and the kind of name that matched."""

    host: str
    node: str
    by: str


def spellings(text: str) -> list[str]:
    """The names that a text may mean, the most likely first.

    An IP address is in its shortest form; an ssh address gives itself, then its host.
    """
    address = ssh_address(text)
    if address:
        return [address, plain_host(urlsplit(address).hostname or "")]
    return [plain_host(text)]


def plain_host(text: str) -> str:
    """A host in canonical form: IP addresses short and without brackets."""
    bare = text.strip().removeprefix("[").removesuffix("]")
    try:
        return ip_address(bare).compressed
    except ValueError:
        return text.strip()


def is_ip(text: str) -> bool:
    """Whether a host is an IP address."""
    try:
        ip_address(plain_host(text))
    except ValueError:
        return False
    return True


def ssh_address(text: str) -> str:
    """``ssh://[user@]host[:port]`` in canonical form; '' for anything else."""
    try:
        parts = urlsplit(text.strip())
        port, host = parts.port, plain_host(parts.hostname or "")
    except ValueError:
        return ""
    if parts.scheme != "ssh" or not host or parts.password is not None:
        return ""
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        return ""
    user = f"{parts.username}@" if parts.username else ""
    shown = f"[{host}]" if ":" in host else host
    return f"ssh://{user}{shown}" + (
        f":{port}" if port not in (None, _SSH_PORT) else ""
    )


def choose(rows: Iterable[Mapping[str, Any]], text: str) -> ResolvedHost:
    """Find the host that a text means among the rows of `fleet/find` for all names.

    Raises UnknownHostError, which names the nearest, and AmbiguousHostError.
    """
    known = list(rows)
    for name in spellings(text):
        hits = [row for row in known if row["name"] == name]
        if hits:
            return _one(hits, name)
    names = [str(row["name"]) for row in known]
    raise UnknownHostError(unknown(text, names))


def host_queries(query: SavedQuery) -> tuple[str, str]:
    """The saved queries that tell whether a query may have rows about a host.

    A removed host is still in the history, and its runs name it.
    """
    is_past = query.dataset == "history"
    return "inventory/names", "history/states" if is_past else "observations/runs"


def _one(hits: Sequence[Mapping[str, Any]], name: str) -> ResolvedHost:
    best = min(_ORDER.index(row["by"]) for row in hits)
    row, *others = [row for row in hits if _ORDER.index(row["by"]) == best]
    hosts = sorted({str(row["host"]) for row in [row, *others]}, key=natural)
    if len(hosts) > 1:
        shown = ", ".join(hosts[:5]) + (" …" if len(hosts) > 5 else "")
        raise AmbiguousHostError(f"{name} is of {len(hosts)} hosts ({shown}): name one")
    return ResolvedHost(str(row["host"]), str(row["node"]), str(row["by"]))


def unknown(text: str, names: Sequence[str]) -> str:
    """The message for a host that is not among the names."""
    near = get_close_matches(text[:100], sorted({*names}), n=3, cutoff=0.5)
    if near:
        return f"no host {text[:100]!r}; near: {', '.join(near)}"
    fix = "`supertwin query fleet/find` lists them" if names else "the twin has none"
    return f"no host {text[:100]!r}: {fix}"
