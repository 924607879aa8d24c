"""Queries with the functions of samples."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx

from core.stores.endpoint import Endpoint
from tests.api.graph import BASE

_PREFIXES = f"""PREFIX st: <https://w3id.org/supertwin/ns#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX t: <{BASE}/twin/n1/telemetry/>
"""
CPU0, CPU1 = (
    f"<{BASE}/twin/n1/telemetry/kernel.percpu.cpu.user/cpu{n}>" for n in (0, 1)
)
FREE = f"<{BASE}/twin/n1/telemetry/mem.util.free/~>"
RELEASE = f"<{BASE}/twin/n1/telemetry/kernel.uname.release/~>"
PROCESS = f"<{BASE}/twin/n1/telemetry/proc.psinfo.utime/1~20in~22it>"


@dataclass(frozen=True)
class Samples:
    """A dataset, and the second before its first sample."""

    url: str
    start: int

    def at(self, seconds: float) -> str:
        """Return a time after the start as a term."""
        at = datetime.fromtimestamp(self.start + seconds, UTC)
        return f'"{at.isoformat()}"^^xsd:dateTime'

    def range(self, first: float, last: float) -> str:
        """Return the two arguments of a range."""
        return f"{self.at(first)} {self.at(last)}"

    def second(self, time: Any) -> float:
        """Return how many seconds after the start a time is."""
        return float(datetime.fromisoformat(str(time)).timestamp()) - self.start

    def rows(self, pattern: str, select: str = "*") -> list[list[Any]]:
        """Return the rows of a query, with Python values, sorted."""
        with Endpoint(self.url) as dataset:
            found = dataset.select(f"{_PREFIXES} SELECT {select} {{ {pattern} }}")
        return sorted(map(list, found.values()))

    def requests(self, pattern: str) -> list[dict[str, str]]:
        """Return what a query asks the series store."""
        query = f"{_PREFIXES} SELECT * {{ {pattern} }}"
        form = {"query": query, "explain": "true"}
        found: list[dict[str, str]] = httpx.post(f"{self.url}/sparql", data=form).json()
        return found

    def text(self, pattern: str, media_type: str = "text/csv") -> str:
        """Return an answer as it is sent."""
        with Endpoint(self.url) as dataset:
            query = f"{_PREFIXES} SELECT * {{ {pattern} }}"
            return dataset.answer(query, media_type).decode()
