"""What `supertwin up` and `supertwin status` print."""

import shlex
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from core.settings.settings import LOOPBACK, Settings
from core.settings.state import StackState
from supertwin.cli.wording import counted
from supertwin.stack.priority import priorities

if TYPE_CHECKING:
    from ingest.loading import Twin

_QUERY = (
    "PREFIX st: <https://w3id.org/supertwin/ns#> "
    "SELECT ?cpu ?level ?cache WHERE { "
    "?thread a st:HardwareThread ; st:osIndex ?cpu ; st:usesCache ?cache . "
    "?cache st:cacheLevel ?level } ORDER BY ?cpu ?level"
)


def twin_line(twin: "Twin") -> str:
    """Return a twin's figures in one line."""
    return (
        f"{twin.host}: {counted(twin.sockets, 'socket')}, "
        f"{counted(twin.cores, 'core')}, {counted(twin.threads, 'thread')}, "
        f"{counted(twin.metrics, 'metric')} ({twin.monitored} sampled), "
        f"{counted(twin.triples, 'triple')}, and {twin.shared} in the catalogues of "
        "all hosts"
    )


def up_lines(settings: Settings, twin: "Twin") -> list[str]:
    """Return the twin's figures, the addresses of the services, and a query to try."""
    return [
        twin_line(twin),
        *(f"  nothing from {name}: {why}" for name, why in twin.gaps.items()),
        f"web page, API    {web_address(settings)}/",
        f"Fuseki           {settings.fuseki}",
        f"VictoriaMetrics  {settings.store_read}",
        "Which caches does each thread use? Try:",
        f"  {_curl(settings)}",
        *_ways_in(settings),
    ]


def web_address(settings: Settings) -> str:
    """Return the address of the pages: the base of the IRIs if it is this machine.

    A browser separates login and theme for ``localhost`` and ``127.0.0.1``, and the
    IRIs that commands print lead to the base.
    """
    parts = urlsplit(settings.base)
    is_here = parts.hostname in ("localhost", LOOPBACK)
    if is_here and parts.port == settings.api_port and settings.bind == LOOPBACK:
        return settings.base.rstrip("/")
    return settings.api


def _ways_in(settings: Settings) -> list[str]:
    if settings.reads_are_open:
        return []
    return ["Reading takes a token: `supertwin token add NAME --role reader`"]


def _curl(settings: Settings) -> str:
    words = ["curl", "-s", f"{settings.api}/sparql", "-H", "Accept: text/csv"]
    return shlex.join([*words, "--data-urlencode", f"query={_QUERY}"])


def status_lines(state: StackState) -> list[str]:
    """Return a table of the services: state, process, restarts, age, last trouble."""
    rows = [("service", "state", "pid", "restarts", "since", "last trouble")]
    now = time.time()
    for name, child in state.children.items():
        pid, age = str(child.pid or "-"), _age(now - child.since)
        rows.append((name, child.state, pid, str(child.restarts), age, child.reason))
    return [
        *_table(rows),
        f"stack {state.phase}, PMCD at {state.pmcd}",
        _priority_line(priorities(state)),
    ]


def cost_line(basis: str, calibration: str) -> str:
    """Return the basis of cost estimates and the state of the calibration."""
    return (
        f"sampling cost: {basis}{f'; calibration {calibration}' if calibration else ''}"
    )


def _priority_line(found: Mapping[str, str]) -> str:
    """Return the scheduling priority of the sampling processes."""
    parts = [f"{name} {priority}" for name, priority in found.items()]
    if "pmcd" not in found:
        parts.append("PMCD was not started here and keeps its own")
    return f"sampling priority: {', '.join(parts)}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows with their columns aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = [[c.ljust(w) for c, w in zip(r, widths, strict=True)] for r in rows]
    return ["  ".join(row).rstrip() for row in padded]


def _age(seconds: float) -> str:
    """Return a length of time in its largest unit."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
