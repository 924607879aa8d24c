"""The hosts on the first page: what each is, and how busy it has been."""

import asyncio
import math
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from api.services import Services
from api.web.pages import Links
from core.stores.fuseki import Row
from dashboards.units import drawn_unit, quantity
from ontology.terms import PREFIXES
from queries.catalogue import saved_query
from queries.natural_order import natural

_SPARK_S, _STEP_S = 900, 15
# The idle time of each thread in milliseconds, without series of observations.
_IDLE = 'kernel_percpu_cpu_idle{observation=""}'
_BUSY = f"clamp(1 - avg(rate({_IDLE})) by (hostname) / 1000, 0, 1)"
_PLANNED = (
    f"PREFIX st: <{PREFIXES['st']}> SELECT DISTINCT ?host "
    "{ ?plan st:ofHost ?node ; st:samples ?metric . ?node st:hostname ?host }"
)
_LAST = f"max(tlast_over_time({_IDLE}[1h])) by (hostname)"


@dataclass(frozen=True)
class HostCard:
    """One host as the page shows it; ``gaps`` are sources that its probe lacks.

    ``planned`` says whether any plan samples it; ``memory`` is ``bytes`` in words.
    """

    name: str
    href: str
    processor: str
    facts: str
    system: str
    probed: str
    sources: int
    planned: bool
    threads: str = ""
    memory: str = ""
    bytes: str = ""
    gaps: list[tuple[str, str]] = field(default_factory=list)

    @property
    def quoted(self) -> str:
        """The name as a parameter of a URL."""
        return quote(self.name, safe="")


async def host_cards(services: Services, links: Links) -> list[HostCard]:
    """Return all hosts, sampled ones first, in natural order.

    Raises ApiError if the graph store is unreachable.
    """
    names = ("inventory/hosts", "inventory/probes", "why/probe-gaps")
    texts = (*(saved_query(name).bind({}) for name in names), _PLANNED)
    hosts, probes, gaps, planned = await asyncio.gather(
        *(services.graph.rows(text) for text in texts)
    )
    probe_of = {_text(row, "host"): row for row in probes}
    sampled = {_text(row, "host") for row in planned}
    cards = [
        _card(row, probe_of.get(_text(row, "host"), {}), gaps, sampled, links)
        for row in hosts
    ]
    return sorted(cards, key=lambda card: (not card.planned, natural(card.name)))


def _card(
    host: Row, probe: Row, gaps: list[Row], sampled: set[str], links: Links
) -> HostCard:
    name = _text(host, "host")
    system = (_text(probe, "osName"), _text(host, "kernel"))
    return HostCard(
        name=name,
        href=links.href(_text(host, "node")),
        processor=_text(host, "cpuModel"),
        facts=" · ".join(_facts(host)),
        system=" · ".join(text for text in system if text),
        probed=_probed(_text(probe, "probedAt")),
        sources=int(_text(probe, "sources") or 0),
        planned=name in sampled,
        threads=_text(host, "threads"),
        memory=_memory(host),
        bytes=_text(host, "memory"),
        gaps=[
            (_text(row, "source"), _text(row, "reason") or "no reason was given")
            for row in gaps
            if _text(row, "host") == name and _text(row, "succeeded") == "false"
        ],
    )


def _facts(host: Row) -> list[str]:
    counted = [
        _counted(int(_text(host, f"{noun}s") or 0), noun)
        for noun in ("socket", "core", "thread")
    ]
    return [*counted, memory] if (memory := _memory(host)) else counted


def _memory(host: Row) -> str:
    memory = _text(host, "memory")
    return quantity(int(memory), drawn_unit("BYTE")[0]) if memory else ""


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _probed(text: str) -> str:
    """Return a time in the format of a ``time`` element; '' if it is not one."""
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return ""


def _text(row: Row, name: str) -> str:
    return row[name].value if name in row else ""


async def busy(services: Services) -> dict[str, dict[str, Any]]:
    """Return the busy shares of the last 15 minutes by host, and their age.

    ``busy`` are shares of all threads, one per step of 15 s, null without a sample;
    ``age_s`` is the age of the last sample. Raises StoreError.
    """
    # Whole steps, so that the chart moves by one step and does not flicker.
    end = math.floor(time.time() / _STEP_S) * _STEP_S
    start = end - _SPARK_S
    span = {"query": _BUSY, "start": start, "end": end, "step": _STEP_S}
    shares, last = await asyncio.gather(
        services.store.result("/api/v1/query_range", _texts(span)),
        services.store.result("/api/v1/query", _texts({"query": _LAST})),
    )
    at = {series["metric"].get("hostname", ""): series["value"] for series in last}
    return {
        name: {
            "busy": _stepped(series["values"], start, end),
            "age_s": round(time.time() - float(at[name][1]), 1) if name in at else None,
        }
        for series in shares
        if (name := series["metric"].get("hostname", ""))
    }


def _texts(parameters: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in parameters.items()} | {"nocache": "1"}


def _stepped(
    points: list[tuple[float, str]], start: float, end: float
) -> list[float | None]:
    found = {round(at): round(float(value), 4) for at, value in points}
    return [found.get(at) for at in range(int(start), int(end) + 1, _STEP_S)]
