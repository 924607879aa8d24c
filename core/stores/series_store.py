"""The series store (VictoriaMetrics): the last value of a series, as it is stored."""

import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson
from aiohttp import ClientError

from core.stores.connections import Connections, NoneFreeError
from core.stores.errors import StoreError
from core.stores.http_connection import FORM
from core.stores.scope import Groups, current_scope, series_filter
from ontology.selectors import TEXT_LABEL

# Most series that are queried are still running, so look at recent points first.
_RECENT = "2m"
_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class StoreAnswer:
    """A whole HTTP answer of the store."""

    status: int
    content: bytes


@dataclass(frozen=True)
class StoredSample:
    """One stored point: its value as the store writes it, milliseconds since 1970.

    ``text`` is the text of a text metric; None if there is none or it was empty.
    """

    value: str
    timestamp_ms: int
    text: str | None = None

    @property
    def age(self) -> float:
        """Seconds since it was taken."""
        return round(time.time() - self.timestamp_ms / 1000, 3)

    @property
    def number(self) -> int | float:
        """The value as a number."""
        value = float(self.value)
        exact = math.isfinite(value) and value.is_integer()
        return int(value) if exact else value


@dataclass(frozen=True)
class SeriesStore:
    """A VictoriaMetrics; ``retention`` limits how old a last value may be.

    Reads are limited to the scope of the request; ``groups`` looks up the control
    groups that it shows.
    """

    client: Connections
    url: str
    retention: str
    groups: Callable[[], Awaitable[Groups]] | None = None

    async def last(self, selector: str) -> StoredSample | None:
        """Return the newest of all matching points, or None; raises StoreError."""
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
        # In a cluster, the query component has no /health under its path.
        await self._query("1")

    async def _query(self, query: str, at: float = 0) -> list[dict[str, Any]]:
        # Without a time, the store rounds "now" down to a whole second.
        end = at or time.time() + 1
        parameters = {"query": query, "nocache": "1", "time": f"{end:.3f}"}
        return await self.result("/api/v1/query", parameters)

    async def result(
        self, path: str, parameters: dict[str, str]
    ) -> list[dict[str, Any]]:
        """Return the series in an answer of the Prometheus query API.

        Raises StoreError, and OutOfScopeError.
        """
        answer = await self._get(path, {**parameters, **await self._filter()})
        try:
            result: list[dict[str, Any]] = orjson.loads(answer.content)["data"][
                "result"
            ]
        except (ValueError, KeyError, TypeError):
            raise StoreError(
                f"VictoriaMetrics at {self.url} answered with no result; ask again"
            ) from None
        return result

    async def post(
        self, path: str, form: dict[str, str], timeout: float
    ) -> StoreAnswer:
        """Post a form and return the answer, whatever its status.

        ``timeout`` is in seconds. Raises StoreError if there is no answer or the
        account is refused, and OutOfScopeError.
        """
        limited = {**form, **await self._filter()}
        body = urlencode(limited, doseq=True).encode()
        return await self._send("POST", path, body, timeout)

    async def _filter(self) -> dict[str, list[str]]:
        if self.groups and current_scope().is_owned:
            return series_filter(await self.groups())
        return series_filter()

    async def _get(
        self, path: str, parameters: Mapping[str, str | list[str]]
    ) -> StoreAnswer:
        asked = f"{path}?{urlencode(parameters, doseq=True)}"
        answer = await self._send("GET", asked)
        if answer.status != 200:
            raise StoreError(
                f"VictoriaMetrics at {self.url} answered with {answer.status}; "
                "see `make status`"
            )
        return answer

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        timeout: float = _TIMEOUT_S,
    ) -> StoreAnswer:
        headers = {"Content-Type": FORM} if body else {}
        try:
            async with self.client.request(
                method, self.url + path, body, headers, wait_s=timeout, read_s=timeout
            ) as response:
                answer = StoreAnswer(response.status, await response.read())
        except (NoneFreeError, TimeoutError):
            raise StoreError(
                f"VictoriaMetrics at {self.url} did not answer in time; ask again"
            ) from None
        except (ClientError, ConnectionError):
            raise StoreError(
                f"VictoriaMetrics does not answer at {self.url}; see `make status`"
            ) from None
        if answer.status in (401, 403):
            raise StoreError(
                f"VictoriaMetrics at {self.url} refuses the account "
                f"({answer.status}); fix SUPERTWIN_STORE_USER and "
                "SUPERTWIN_STORE_PASSWORD, or its _FILE"
            )
        return answer


def _newest(series: Sequence[dict[str, Any]]) -> StoredSample | None:
    samples = [
        StoredSample(value, round(float(at) * 1000), one["metric"].get(TEXT_LABEL))
        for one in series
        for at, value in one.get("values", [])[-1:]
    ]
    return max(samples, key=lambda sample: sample.timestamp_ms, default=None)
