"""The series store (VictoriaMetrics): the last value of a series, as it is stored."""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from api.problems import ApiError

# Most series are asked for while they run: look there before looking at everything.
_RECENT = "2m"


class StoreError(ApiError):
    """The series store gave no usable answer; its text is the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(503, "store-away", "The series store is away", reason)


@dataclass(frozen=True)
class Sample:
    """One stored point: its value as the store writes it, milliseconds since 1970."""

    value: str
    timestamp_ms: int

    @property
    def age(self) -> float:
        """Seconds since it was taken."""
        return round(time.time() - self.timestamp_ms / 1000, 3)

    @property
    def number(self) -> int | float:
        """Its value as a number."""
        value = float(self.value)
        exact = math.isfinite(value) and value.is_integer()
        return int(value) if exact else value


def selector(db_name: str, host: str, instance: str | None) -> str:
    """The MetricsQL selector of one series; without instance, of all of a metric."""
    labels = {"hostname": host}
    if instance is not None:
        labels["instname"] = instance
    written = ",".join(f"{name}={_quoted(value)}" for name, value in labels.items())
    return f"{db_name}{{{written}}}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@dataclass(frozen=True)
class SeriesStore:
    """A VictoriaMetrics; ``retention`` bounds how far back a last value may lie."""

    client: httpx.AsyncClient
    url: str
    retention: str

    async def last(self, selector: str) -> Sample | None:
        """The newest point of all series that match, None without any; StoreError."""
        found = _newest(await self._query(f"{selector}[{_RECENT}]"))
        if found is not None:
            return found
        times = await self._query(f"tlast_over_time({selector}[{self.retention}])")
        if not times:
            return None
        at = max(float(series["value"][1]) for series in times)
        # One second either side: the time came back as a float.
        samples = await self._query(f"{selector}[2s]", at + 1)
        return _newest(samples)

    async def healthy(self) -> None:
        """Return when the store answers; raises StoreError."""
        await self._get("/health", {})

    async def _query(self, query: str, at: float = 0) -> list[dict[str, Any]]:
        # Left to itself, the store rounds "now" down to a whole second.
        end = at or time.time() + 1
        parameters = {"query": query, "nocache": "1", "time": f"{end:.3f}"}
        response = await self._get("/api/v1/query", parameters)
        try:
            result: list[dict[str, Any]] = response.json()["data"]["result"]
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"{self.url} answered with no result") from None
        return result

    async def _get(self, path: str, parameters: dict[str, str]) -> httpx.Response:
        try:
            response = await self.client.get(self.url + path, params=parameters)
        except httpx.TimeoutException:
            raise StoreError(f"{self.url} did not answer in time") from None
        except httpx.HTTPError as error:
            reason = type(error).__name__
            raise StoreError(f"nothing answers at {self.url} ({reason})") from None
        if response.status_code != 200:
            raise StoreError(f"{self.url} answered with {response.status_code}")
        return response


def _newest(series: Sequence[dict[str, Any]]) -> Sample | None:
    samples = [
        Sample(value, round(float(at) * 1000))
        for one in series
        for at, value in one.get("values", [])[-1:]
    ]
    return max(samples, key=lambda sample: sample.timestamp_ms, default=None)
