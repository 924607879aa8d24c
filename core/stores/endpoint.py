"""Client of one dataset of a Fuseki server: query, update, whole graphs."""

import math
import time
from collections.abc import Iterable
from http.client import HTTPResponse
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

from core.stores.errors import (
    AccountRefusedError,
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    IncompleteAnswerError,
    QuerySyntaxError,
    TooLargeError,
    UpdateRefusedError,
)
from core.stores.http_connection import (
    BROKEN,
    HttpConnection,
    HttpPool,
    NoConnectionError,
    Response,
    basic,
    pieces,
)
from core.stores.results import Table, TermRows, read_rows, read_table, read_truth

if TYPE_CHECKING:
    from rdflib import Graph

JSON_RESULTS = "application/sparql-results+json"
N_TRIPLES = "application/n-triples"
N_QUADS = "application/n-quads"

# What Fuseki says to a read that was under way when a compaction switched the files.
_SWITCHED = "Not in a transaction"
_GRACE = 2.0  # seconds for the store to say itself that the time is over
_CONNECT_SECONDS = 5.0

_BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 400, 401, 403, 404
_NOT_ALLOWED, _UNAVAILABLE = 405, 503


class Endpoint:
    """A dataset such as ``http://127.0.0.1:3030/twin``, over kept-alive connections.

    ``timeout`` is in seconds; the store stops a query after it, rounded up, and the
    client waits a little longer. ``max_bytes`` bounds every answer. Every method raises
    a subclass of EndpointError. Safe to share between threads. ``account`` is user and
    password, where the store asks for them.
    """

    def __init__(
        self,
        url: str,
        timeout: float = 30.0,
        max_bytes: int = 1024**3,
        account: tuple[str, str] | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.max_bytes = max_bytes
        connect_s = min(timeout, _CONNECT_SECONDS)
        self._pool = HttpPool(
            lambda: HttpConnection(self.url, basic(account), connect_s)
        )

    def select(self, sparql: str) -> TermRows:
        """The rows of a SELECT, as rdflib terms."""
        return read_rows(self._typed_answer(sparql, JSON_RESULTS))

    def table(self, sparql: str) -> Table:
        """The rows of a SELECT, as Python values: quicker than as terms."""
        return read_table(self._typed_answer(sparql, JSON_RESULTS))

    def ask(self, sparql: str) -> bool:
        """The answer to an ASK."""
        return read_truth(self._typed_answer(sparql, JSON_RESULTS))

    def construct(self, sparql: str) -> "Graph":
        """The graph of a CONSTRUCT or DESCRIBE."""
        return _graph(self._typed_answer(sparql, N_TRIPLES))

    def answer(self, sparql: str, accept: str) -> bytes:
        """The store's own answer to a query, in the media type asked for.

        The store answers in a type of its own choice where the query's form has no
        such type; a body that it cut short stays unnoticed here.
        """
        return self._query(sparql, accept).content

    def update(self, text: str) -> None:
        """Carry out a SPARQL Update, whole or not at all."""
        response = self._send(
            "POST",
            "/update",
            content=_utf8(text),
            headers={"Content-Type": "application/sparql-update"},
        )
        if response.status == _BAD_REQUEST:
            raise QuerySyntaxError(f"no SPARQL Update: {_reason(response)}")
        self._check_written(response)

    def get_graph(self, iri: str) -> "Graph":
        """A named graph; an empty one where the store has none of that name."""
        response = self._read_again(
            "GET", "/data", params={"graph": iri}, headers={"Accept": N_TRIPLES}
        )
        missing = response.status == _NOT_FOUND
        if missing and "No such graph" in response.text:
            return _graph(b"", iri)
        if not response.is_success:
            raise self._query_error(response)
        return _graph(response.content, iri)

    def put_graph(self, iri: str, data: "Graph") -> None:
        """Replace a named graph by these triples."""
        response = self._send(
            "PUT",
            "/data",
            params={"graph": iri},
            content=data.serialize(format="nt", encoding="utf-8"),
            headers={"Content-Type": N_TRIPLES},
        )
        self._check_written(response)

    def add_quads(self, content: bytes) -> None:
        """Add N-Quads to the named graphs in them, all or none."""
        if content:
            headers = {"Content-Type": N_QUADS}
            sent = self._send("POST", "/data", content=content, headers=headers)
            self._check_written(sent)

    def standing(self, graphs: Iterable[str]) -> set[str]:
        """Those of some named graphs that hold anything."""
        values = " ".join(f"<{graph}>" for graph in graphs)
        rows = self.select(
            f"""SELECT ?graph {{ VALUES ?graph {{ {values} }}
            FILTER EXISTS {{ GRAPH ?graph {{ ?s ?p ?o }} }} }}"""
        ).values()
        return {graph for (graph,) in rows}

    def close(self) -> None:
        """Close the kept-alive connections."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _typed_answer(self, sparql: str, media_type: str) -> bytes:
        response = self._query(sparql, media_type)
        if not response.content_type.startswith(media_type):
            raise QuerySyntaxError("the query is of another form than was asked for")
        return response.content

    def _query(self, sparql: str, accept: str) -> Response:
        response = self._read_again(
            "POST",
            "/sparql",
            content=_utf8(sparql),
            # Whole seconds: Fuseki ignores a fraction, and then never stops.
            params={"timeout": str(math.ceil(self.timeout))},
            headers={"Content-Type": "application/sparql-query", "Accept": accept},
        )
        if not response.is_success:
            raise self._query_error(response)
        return response

    def _read_again(self, method: str, path: str, **request: Any) -> Response:
        """The response to a read, which a compaction may have spoilt once."""
        response = self._send(method, path, **request)
        if not response.is_success and _SWITCHED in response.text:
            response = self._send(method, path, **request)
        return response

    def _send(
        self,
        method: str,
        path: str,
        *,
        headers: dict[str, str],
        params: dict[str, str] | None = None,
        content: bytes = b"",
    ) -> Response:
        target = f"{path}?{urlencode(params)}" if params else path
        try:
            with self._pool.connection() as connection:
                answer = connection.request(
                    method, target, content, headers, self.timeout + _GRACE
                )
                return self._read(self._let_in(answer))
        except BROKEN as error:
            raise self._failure(error, self.url + path) from error

    def _failure(self, error: Exception, url: str) -> EndpointError:
        if isinstance(error, NoConnectionError):
            return self._unreachable(str(error))
        if isinstance(error, TimeoutError):
            return self._too_slow()
        return IncompleteAnswerError(
            f"{url} broke its answer off: try again, or see its log"
        )

    def _let_in(self, answer: HTTPResponse) -> HTTPResponse:
        """The answer, unless the store does not know us."""
        if answer.status in (_UNAUTHORIZED, _FORBIDDEN):
            raise AccountRefusedError(
                f"graph store {self.url} refuses the account "
                f"({answer.status}): fix the settings FUSEKI_USER and "
                "FUSEKI_PASSWORD"
            )
        return answer

    def _read(self, answer: HTTPResponse) -> Response:
        """The whole answer, within the time and size allowed.

        A stream that drips on would never meet the time-out of a single piece.
        """
        deadline = time.monotonic() + math.ceil(self.timeout) + _GRACE
        content = bytearray()
        for piece in pieces(answer):
            content += piece
            if len(content) > self.max_bytes:
                raise TooLargeError(
                    f"{self.url} answers with more than {self.max_bytes} bytes: "
                    "ask for less, or add a LIMIT"
                )
            if time.monotonic() > deadline:
                raise self._too_slow()
        kind = answer.getheader("Content-Type", "")
        return Response(answer.status, answer.reason, kind, bytes(content))

    def _query_error(self, response: Response) -> EndpointError:
        reason = _reason(response)
        if response.status == _BAD_REQUEST:
            return QuerySyntaxError(f"no SPARQL query: {reason}")
        if response.status == _UNAVAILABLE:
            return self._too_slow()
        return self._wrong_answer(response)

    def _check_written(self, response: Response) -> None:
        if response.is_success:
            return
        missing = response.status in (_NOT_FOUND, _NOT_ALLOWED)
        if missing and "Read-only" not in response.text:
            raise self._wrong_answer(response)
        raise UpdateRefusedError(
            f"{self.url} refused to write ({response.status}): {_reason(response)}"
        )

    def _wrong_answer(self, response: Response) -> EndpointError:
        return EndpointError(
            f"{self.url} answered {response.status} ({_reason(response)}): "
            "is it a dataset of the graph store?"
        )

    def _unreachable(self, reason: str) -> EndpointUnreachableError:
        return EndpointUnreachableError(
            f"graph store {self.url} does not answer ({reason}): is the stack up? "
            "See `make status`"
        )

    def _too_slow(self) -> EndpointTimeoutError:
        return EndpointTimeoutError(
            f"graph store {self.url} did not finish within {self.timeout:g} s: "
            "ask for less, or allow more time"
        )


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise QuerySyntaxError(f"the text is not Unicode: {error.reason}") from error


def _graph(body: bytes, iri: str | None = None) -> "Graph":
    from rdflib import Graph, URIRef

    graph = Graph(identifier=URIRef(iri)) if iri else Graph()
    return graph.parse(data=body, format="nt")


def _reason(response: Response) -> str:
    """The store's message as one line; only the title of an HTML page."""
    text = response.text
    if "<title>" in text:
        text = text.partition("<title>")[2].partition("</title>")[0]
    return " ".join(text.split())[:300] or response.reason
