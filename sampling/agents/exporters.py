"""Checks the exporters of a host, reads them once, and describes them in the graph."""

import ipaddress
import re
from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import urlsplit

from core.stores.endpoint import Endpoint
from ontology.iris import Iris
from queries.run import saved_rows
from sampling.agents.exporter_fetch import LONGEST_S, OWN, FetchError, fetch
from sampling.agents.exporter_text import Families
from sampling.agents.graph import publish_exporter, remove_module
from sampling.errors import ExporterError

# PCP's agent names an exporter after its file.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
_RESERVED = {OWN, "control"}
_LONGEST_URL = 500


class ReadExporter(NamedTuple):
    """The result of one read: names of metrics in PCP, and the number of series.

    ``dropped`` is the number of lines that were left out, by reason.
    """

    metrics: list[str]
    series: int
    dropped: dict[str, int]


def add(
    host: str, name: str, url: str, allowed: Collection[str], twin: Endpoint, iris: Iris
) -> None:
    """Add an exporter of a host to the graph; raises ExporterError if it is invalid.

    ``allowed`` are the names of hosts that may be read in addition to loopback.
    """
    check_name(name)
    check_url(url, allowed)
    publish_exporter(host, name, url, twin, iris)


def remove(host: str, name: str, twin: Endpoint, iris: Iris) -> None:
    """Remove an exporter; raises ExporterError while a plan samples it."""
    if name not in exporters(host, twin):
        raise ExporterError(
            f"{host} has no exporter {name[:64]!r}: `supertwin agent describe "
            "openmetrics` lists them"
        )
    start = f"openmetrics.{name}."
    for row in saved_rows(twin, "telemetry/sampling", {"host": host}):
        if str(row["samplerName"]).startswith(start):
            raise ExporterError(
                f"plan {row['plan']} samples exporter {name}: remove the plan first"
            )
    remove_module(host, "openmetrics", name, twin, iris)


def exporters(host: str, twin: Endpoint) -> dict[str, str]:
    """The URLs of a host's exporters, by name."""
    bound = {"host": host, "agent": "openmetrics"}
    rows = saved_rows(twin, "telemetry/agents", bound)
    return {str(row["module"]): str(row["url"]) for row in rows if row["url"]}


def read_once(name: str, url: str) -> ReadExporter:
    """Read an exporter from this machine; raises ExporterError."""
    known = Families()
    try:
        text, series = known.document(fetch(url, LONGEST_S))
    except FetchError as error:
        raise ExporterError(f"exporter {name} at {url}: {error}") from None
    found = re.findall(r"^# PCP5 (\S+)", text, re.M)
    if not found:
        raise ExporterError(
            f"exporter {name} at {url} gives no metric: check that the URL is that of "
            "its metrics"
        )
    metrics = [f"openmetrics.{name}.{metric}" for metric in found]
    return ReadExporter(metrics, series, dict(known.dropped))


def check_name(name: str) -> None:
    """Raise ExporterError if a name is invalid or reserved."""
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise ExporterError(
            f"{name[:64]!r} cannot be the name of an exporter: use 1 to 63 letters, "
            f"digits and _, a letter first, and not {' or '.join(sorted(_RESERVED))}"
        )


def check_url(url: str, allowed: Collection[str]) -> None:
    """Raise ExporterError unless a URL is of loopback or of an allowed host."""
    try:
        where = urlsplit(url)
        host, _ = where.hostname or "", where.port
    except ValueError as error:
        raise ExporterError(f"{url[:80]!r} is not a URL: {error}") from None
    plain = len(url) <= _LONGEST_URL and url.isascii() and url.isprintable()
    if where.scheme not in ("http", "https") or not host or not plain or " " in url:
        raise ExporterError(f"{url[:80]!r} is not a URL of http or https")
    if where.username is not None or where.fragment:
        raise ExporterError(
            f"the URL of {host} contains an account or a fragment: add it without them"
        )
    if not _is_loopback(host) and host not in allowed:
        raise ExporterError(
            f"{host} is another host: name it in SUPERTWIN_EXPORTER_HOSTS to read it"
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
