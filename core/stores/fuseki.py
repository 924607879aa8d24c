"""An asynchronous HTTP client of the graph store, for the API."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx
import orjson

from core.errors import ApiError, BadQueryError, GraphStoreError
from core.stores.connections import Connections

_CUT = b"##  Query cancelled due to timeout"
_ENDS = {
    "application/sparql-results+json": b"}",
    "application/sparql-results+xml": b"</sparql>",
}
_FORM = "application/x-www-form-urlencoded"
# Fuseki 5.6 fails with this when its reason for refusing a query is not plain ASCII.
_LOST_REASON = "Insufficient content written"
_REASON_LOST = (
    "Fuseki cannot read the query, and its reason is lost since it quotes characters "
    "beyond ASCII; look for undeclared prefixes and stray characters"
)
# The answer to a read that was running when a compaction switched the files.
_SWITCHED = "Not in a transaction"
_REASON_BYTES = 64 * 1024


@dataclass(frozen=True)
class Binding:
    """One RDF term of a result row, as in SPARQL JSON."""

    type: str
    value: str
    datatype: str = ""
    language: str = ""


Row = dict[str, Binding]


@dataclass(frozen=True)
class GraphStore:
    """One dataset; ``timeout`` in seconds and ``max_bytes`` limit every answer."""

    client: httpx.AsyncClient
    url: str
    timeout: float
    max_bytes: int

    async def rows(self, sparql: str) -> list[Row]:
        """Return the rows of a SELECT; an unbound column is absent from its row."""
        body = await self.query(sparql, "application/sparql-results+json")
        return [
            {name: read_binding(term) for name, term in row.items()}
            for row in orjson.loads(body)["results"]["bindings"]
        ]

    async def query(
        self, sparql: str, media_type: str, graphs: Sequence[tuple[str, str]] = ()
    ) -> bytes:
        """Return the complete answer in a media type; raises GraphStoreError.

        ``graphs`` are pairs of ``default-graph-uri`` or ``named-graph-uri`` and an IRI.
        """
        start = time.monotonic()
        try:
            async with asyncio.timeout(self.timeout):
                body = await self._fetch(sparql, media_type, graphs)
        except TimeoutError:
            raise self._too_slow() from None
        if time.monotonic() - start >= self.timeout or _CUT in body[-400:]:
            raise self._too_slow()
        if not body.rstrip().endswith(_ENDS.get(media_type, b"")):
            raise _cut_short()
        return body

    async def _fetch(
        self, sparql: str, media_type: str, graphs: Sequence[tuple[str, str]]
    ) -> bytes:
        form = [("query", sparql), *graphs, ("timeout", f"{math.ceil(self.timeout)}")]
        content = urlencode(form).encode()
        try:
            return await self._send(content, media_type)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            # An idle connection that the store has closed in the meantime looks like
            # this.
            return await self._send_again(content, media_type)

    async def _send_again(self, content: bytes, media_type: str) -> bytes:
        try:
            return await self._send(content, media_type)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            raise _cut_short() from None

    async def _send(self, content: bytes, media_type: str) -> bytes:
        # Plain text is for error reasons: without it, some of them are empty.
        accept = f"{media_type}, text/plain;q=0.01"
        headers = {"Accept": accept, "Content-Type": _FORM}
        try:
            async with self.client.stream(
                "POST", f"{self.url}/sparql", content=content, headers=headers
            ) as response:
                return await self._read(response, media_type)
        except httpx.PoolTimeout:
            raise _busy() from None
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise _away(self.url) from None

    async def _read(self, response: httpx.Response, media_type: str) -> bytes:
        if response.status_code in (401, 403):
            raise _account_refused(self.url, response.status_code)
        if response.status_code != 200:
            reason = await _collect(response, _REASON_BYTES)
            text = (reason or b"").decode(errors="replace")
            if _SWITCHED in text:
                raise httpx.RemoteProtocolError(text)
            raise _refusal(response.status_code, text, self._too_slow())
        answered = response.headers.get("content-type", "").partition(";")[0]
        if answered != media_type:
            raise _unexpected(f"answered with {answered!r} instead of {media_type}")
        body = await _collect(response, self.max_bytes)
        if body is None:
            raise self._too_large()
        return body

    def _too_slow(self) -> GraphStoreError:
        return GraphStoreError(
            504,
            "query-timeout",
            "The query took too long",
            f"stopped after {self.timeout:g} s; ask for less, or raise "
            "SUPERTWIN_QUERY_TIMEOUT",
        )

    def _too_large(self) -> ApiError:
        return ApiError(
            413,
            "answer-too-large",
            "The answer is too large",
            f"stopped at {self.max_bytes} bytes; add a LIMIT, or raise "
            "SUPERTWIN_QUERY_MAX_BYTES",
        )


def client(
    account: tuple[str, str] | None = None, connections: int = 16
) -> httpx.AsyncClient:
    """Make a pool of kept-alive connections; further requests wait 5 s for one."""
    return httpx.AsyncClient(
        headers={"Accept-Encoding": "identity"},
        auth=account,
        transport=Connections(connections, keep_s=20),
        timeout=httpx.Timeout(None, connect=5, pool=5),
        trust_env=False,
    )


async def _collect(response: httpx.Response, limit: int) -> bytes | None:
    """Return the whole body, or None as soon as it exceeds the limit."""
    body = bytearray()
    chunks: AsyncIterator[bytes] = response.aiter_raw()
    async with aclosing(chunks):  # type: ignore[type-var]
        async for chunk in chunks:
            body += chunk
            if len(body) > limit:
                return None
    return bytes(body)


def read_binding(term: dict[str, Any]) -> Binding:
    """Read one term of a SPARQL JSON result."""
    return Binding(
        term["type"],
        term["value"],
        term.get("datatype", ""),
        term.get("xml:lang", ""),
    )


def _refusal(status: int, text: str, too_slow: GraphStoreError) -> ApiError:
    if status == 400:
        return BadQueryError("syntax-error", "SPARQL syntax error", one_line(text))
    if status == 500 and _LOST_REASON in text:
        return BadQueryError("syntax-error", "SPARQL syntax error", _REASON_LOST)
    if status == 503 and "timed out" in text:
        return too_slow
    return _unexpected(f"answered with status {status}: {one_line(text)}")


def one_line(text: str) -> str:
    """Return the reason from the graph store's text, without the query's copy."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    if lines[0] == "StackOverflowError":
        return "the query is nested too deeply"
    reason = lines[-1] if lines[0] == "Error:" else " ".join(lines)
    return reason if len(reason) <= 500 else f"{reason[:500]} …"


def _unexpected(what: str) -> GraphStoreError:
    title = "The graph store failed"
    return GraphStoreError(502, "graph-store-failed", title, f"Fuseki {what}")


def _cut_short() -> GraphStoreError:
    title = "The graph store failed"
    detail = "Fuseki ended its answer before it was complete; ask again"
    return GraphStoreError(502, "answer-incomplete", title, detail)


def _account_refused(url: str, status: int) -> GraphStoreError:
    return GraphStoreError(
        502,
        "graph-store-account",
        "The graph store does not let SuperTwin in",
        f"Fuseki at {url} refuses the account ({status}); fix SUPERTWIN_FUSEKI_USER "
        "and SUPERTWIN_FUSEKI_PASSWORD, or its _FILE",
    )


def _busy() -> GraphStoreError:
    return GraphStoreError(
        503,
        "busy",
        "Too many queries at once",
        "no connection to Fuseki came free within 5 s; ask again",
        headers={"Retry-After": "5"},
    )


def _away(url: str) -> GraphStoreError:
    return GraphStoreError(
        503,
        "graph-store-away",
        "The graph store is away",
        f"Fuseki does not answer at {url}; `make status` tells more",
        headers={"Retry-After": "5"},
    )
