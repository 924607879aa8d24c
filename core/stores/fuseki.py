"""The client of a Fuseki dataset for the API: asynchronous, and cancellable."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any

import orjson
from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ConnectionTimeoutError,
)

from core.stores.connections import CONNECT_S, Connections, NoneFreeError
from core.stores.errors import IncompleteAnswerError, NoFreeConnectionError
from core.stores.results import Table, TermRows, read_rows, read_table, read_texts
from core.stores.sparql_dataset import (
    CSV_RESULTS,
    JSON_RESULTS,
    REASON_BYTES,
    VERSION,
    WARNING,
    Answer,
    SparqlDataset,
)
from core.stores.spool import Spool

# Our extension of Fuseki cancels a query by the id that it was given.
_ID, _CANCEL = "SuperTwin-Query", "SuperTwin-Cancel"
_CANCEL_WITHIN_S = 1.0


@dataclass(frozen=True)
class Binding:
    """One RDF term of a result row, as in SPARQL JSON."""

    type: str
    value: str
    datatype: str = ""
    language: str = ""


Row = dict[str, Binding]


class GraphStore(SparqlDataset):
    """Queries of one dataset; every method raises a subclass of EndpointError."""

    def __init__(
        self, client: Connections, url: str, timeout: float, max_bytes: int
    ) -> None:
        super().__init__(url, timeout, max_bytes)
        self.client = client
        self._cancellations: set[asyncio.Task[None]] = set()

    async def rows(self, sparql: str) -> list[Row]:
        """Return the rows of a SELECT; an unbound column is absent from its row."""
        return read_bindings(await self.query(sparql, JSON_RESULTS))

    async def select(self, sparql: str) -> TermRows:
        """Return the rows of a SELECT, as rdflib terms."""
        return read_rows(await self.query(sparql, JSON_RESULTS))

    async def table(self, sparql: str) -> Table:
        """Return the rows of a SELECT as Python values, which is faster than terms."""
        return read_table(await self.query(sparql, JSON_RESULTS))

    async def texts(self, sparql: str) -> list[dict[str, str]]:
        """Return the rows of a SELECT as texts, which is faster than values."""
        return read_texts(await self.query(sparql, CSV_RESULTS))

    async def query(
        self, sparql: str, media_type: str, graphs: Sequence[tuple[str, str]] = ()
    ) -> bytes:
        """Return the complete answer to a query in a media type.

        ``graphs`` are pairs of ``default-graph-uri`` or ``named-graph-uri`` and an IRI;
        with EXPLAIN among them, the answer is JSON: the requests for samples.
        """
        return (await self.answer(sparql, media_type, graphs)).content

    async def answer(
        self, sparql: str, media_type: str, graphs: Sequence[tuple[str, str]] = ()
    ) -> Answer:
        """Return the complete answer of `query`, with a warning if there is one."""
        content = bytearray()

        async def write(part: bytes) -> None:
            content.extend(part)

        answer = await self._within_time(
            sparql, media_type, graphs, _Sink(write, content.clear)
        )
        return replace(answer, content=bytes(content))

    async def spooled(
        self,
        spool: Spool,
        sparql: str,
        media_type: str,
        graphs: Sequence[tuple[str, str]] = (),
    ) -> Answer:
        """Write the complete answer of `query` into a spool.

        The answer that is returned has only the last REASON_BYTES of it. Also raises
        DiskFullError and FileError.
        """
        sink = _Sink(spool.write, spool.clear)
        return await self._within_time(sparql, media_type, graphs, sink)

    async def version(self) -> str:
        """Return the version of the dataset; empty if Fuseki lacks our extension.

        A query that begins afterwards reads this version or a newer one.
        """
        return (await self.answer("ASK {}", JSON_RESULTS)).version

    async def _within_time(
        self,
        sparql: str,
        media_type: str,
        graphs: Sequence[tuple[str, str]],
        sink: "_Sink",
    ) -> Answer:
        form, headers = self.query_form(sparql, media_type, graphs)
        try:
            async with asyncio.timeout(self.timeout):
                return await self._read(form, headers, media_type, sink)
        except TimeoutError:
            raise self.too_slow() from None

    async def _read(
        self, form: bytes, headers: Mapping[str, str], media_type: str, sink: "_Sink"
    ) -> Answer:
        deadline = time.monotonic() + self.timeout
        try:
            answer = await self._send(form, headers, deadline, sink)
            self.body(answer, media_type)
        except IncompleteAnswerError:
            # An idle connection that the store has closed in the meantime looks like
            # this, too.
            sink.clear()
            answer = await self._send(form, headers, deadline, sink)
            self.body(answer, media_type)
        return answer

    async def _send(
        self, form: bytes, headers: Mapping[str, str], deadline: float, sink: "_Sink"
    ) -> Answer:
        query_id = token_hex(8)
        try:
            async with self._request(form, {**headers, _ID: query_id}) as response:
                excerpt = await self._content(response, deadline, sink)
        except asyncio.CancelledError:
            await self._cancel(query_id)
            raise
        except NoneFreeError:
            raise NoFreeConnectionError(
                f"no connection to Fuseki was free within {CONNECT_S:g} s; ask again"
            ) from None
        except ClientConnectorError as error:
            raise self.unreachable(error.strerror) from None
        except ConnectionTimeoutError:
            reason = f"no connection within {CONNECT_S:g} s"
            raise self.unreachable(reason) from None
        except (ClientError, ConnectionError):
            raise self.cut_short() from None
        content_type = response.headers.get("content-type", "")
        answer = self.received(response.status, content_type, excerpt)
        return replace(
            answer,
            warning=response.headers.get(WARNING, ""),
            version=response.headers.get(VERSION, ""),
        )

    def _request(
        self, form: bytes, headers: Mapping[str, str], **limits: float
    ) -> AbstractAsyncContextManager[ClientResponse]:
        url = f"{self.url}/sparql"
        return self.client.request("POST", url, form, headers, **limits)

    async def _cancel(self, query_id: str) -> None:
        """Cancel a query: Fuseki does not notice that its client has disconnected."""
        task = asyncio.create_task(self._send_cancellation(query_id))
        self._cancellations.add(task)
        task.add_done_callback(self._cancellations.discard)
        # A cancelled scope of anyio cancels every wait in it again.
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)

    async def _send_cancellation(self, query_id: str) -> None:
        form, headers = self.query_form("ASK {}", JSON_RESULTS)
        limits = {"wait_s": _CANCEL_WITHIN_S, "read_s": _CANCEL_WITHIN_S}
        with suppress(NoneFreeError, ClientError, OSError):
            async with self._request(form, {**headers, _CANCEL: query_id}, **limits):
                pass

    async def _content(
        self, response: ClientResponse, deadline: float, sink: "_Sink"
    ) -> bytes:
        """Write the body of a success into the sink, and return its last REASON_BYTES.

        Of an error, return the first REASON_BYTES, which have the reason.
        """
        excerpt, size, is_error = bytearray(), 0, not response.ok
        async for chunk in response.content.iter_any():
            excerpt += chunk
            if is_error:
                del excerpt[REASON_BYTES:]
            else:
                del excerpt[:-REASON_BYTES]
                size += len(chunk)
                await sink.write(chunk)
            self.check_limits(size, deadline)
        return bytes(excerpt)


@dataclass(frozen=True)
class _Sink:
    """Takes the parts of a body, and forgets them if the query is sent again."""

    write: Callable[[bytes], Awaitable[None]]
    clear: Callable[[], None]


def read_bindings(body: bytes) -> list[Row]:
    """Read the rows of a SPARQL JSON result."""
    return [
        {name: read_binding(term) for name, term in row.items()}
        for row in orjson.loads(body)["results"]["bindings"]
    ]


def read_binding(term: dict[str, Any]) -> Binding:
    """Read one term of a SPARQL JSON result."""
    return Binding(
        term["type"],
        term["value"],
        term.get("datatype", ""),
        term.get("xml:lang", ""),
    )
