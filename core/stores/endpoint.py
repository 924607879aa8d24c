"""The client of a Fuseki dataset for commands, without httpx."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from http.client import HTTPResponse
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode

from core.stores.errors import IncompleteAnswerError
from core.stores.http_connection import (
    BROKEN,
    HttpConnection,
    HttpPool,
    NoConnectionError,
    basic,
    pieces,
)
from core.stores.results import (
    Table,
    TermRows,
    read_rows,
    read_table,
    read_texts,
    read_truth,
)
from core.stores.scope import refuse_update
from core.stores.sparql_dataset import (
    CSV_RESULTS,
    JSON_RESULTS,
    N_TRIPLES,
    REASON_BYTES,
    VERSION,
    Answer,
    SparqlDataset,
    utf8,
)

if TYPE_CHECKING:
    from rdflib import Graph

_CONNECT_SECONDS = 5.0


class Endpoint(SparqlDataset):
    """Queries, updates and whole graphs of a dataset, over kept-alive connections.

    Every method raises a subclass of EndpointError, and those that write
    OutOfScopeError. Safe to share between threads.
    ``account`` is user and password, if the store requires them.
    """

    def __init__(
        self,
        url: str,
        timeout: float = 30.0,
        max_bytes: int = 1024**3,
        account: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(url, timeout, max_bytes)
        connect_s = min(timeout, _CONNECT_SECONDS)
        self._pool = HttpPool(
            lambda: HttpConnection(self.url, basic(account), connect_s)
        )

    def select(self, sparql: str) -> TermRows:
        """Return the rows of a SELECT, as rdflib terms."""
        return read_rows(self.answer(sparql, JSON_RESULTS))

    def table(self, sparql: str) -> Table:
        """Return the rows of a SELECT as Python values, which is faster than terms."""
        return read_table(self.answer(sparql, JSON_RESULTS))

    def texts(self, sparql: str) -> list[dict[str, str]]:
        """Return the rows of a SELECT as texts, which is faster than values."""
        return read_texts(self.answer(sparql, CSV_RESULTS))

    def ask(self, sparql: str) -> bool:
        """Return the answer to an ASK."""
        return read_truth(self.answer(sparql, JSON_RESULTS))

    def construct(self, sparql: str) -> "Graph":
        """Return the graph of a CONSTRUCT or DESCRIBE."""
        return _graph(self.answer(sparql, N_TRIPLES))

    def answer(self, sparql: str, media_type: str) -> bytes:
        """Return the complete answer to a query in a media type."""
        return self._ask(sparql, media_type).content

    def version(self) -> str:
        """Return the version of the dataset; empty if Fuseki lacks our extension.

        A query that begins afterwards reads this version or a newer one.
        """
        return self._ask("ASK {}", JSON_RESULTS).version

    def _ask(self, sparql: str, media_type: str) -> Answer:
        request = "POST", "/sparql", *self.query_form(sparql, media_type)
        try:
            answer = self._send(*request)
            self.body(answer, media_type)
        except IncompleteAnswerError:
            answer = self._send(*request)
            self.body(answer, media_type)
        return answer

    def update(self, text: str) -> None:
        """Carry out a SPARQL Update, whole or not at all."""
        refuse_update()
        headers = {"Content-Type": "application/sparql-update"}
        self.check_update(self._send("POST", "/update", utf8(text), headers))

    def get_graph(self, iri: str) -> "Graph":
        """Return a named graph; empty if the store does not have it."""
        query = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{iri}> {{ ?s ?p ?o }} }}"
        return _graph(self.answer(query, N_TRIPLES), iri)

    def put_graph(self, iri: str, data: "Graph") -> None:
        """Replace a named graph by these triples."""
        refuse_update()
        path = f"/data?{urlencode({'graph': iri})}"
        content = data.serialize(format="nt", encoding="utf-8")
        headers = {"Content-Type": N_TRIPLES}
        self.check_written(self._send("PUT", path, content, headers))

    def add_quads(self, content: bytes) -> None:
        """Add N-Quads to the named graphs in them, all or none."""
        refuse_update()
        if content:
            headers = {"Content-Type": "application/n-quads"}
            self.check_written(self._send("POST", "/data", content, headers))

    def standing(self, graphs: Iterable[str]) -> set[str]:
        """Return those of some named graphs that are not empty."""
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

    def _send(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str]
    ) -> Answer:
        try:
            with self._pool.connection() as connection:
                answer = connection.request(
                    method, path, content, headers, self.timeout
                )
                content_type = answer.getheader("Content-Type", "")
                got = self.received(answer.status, content_type, self._content(answer))
                return replace(got, version=answer.getheader(VERSION, ""))
        except NoConnectionError as error:
            raise self.unreachable(error) from error
        except TimeoutError as error:
            raise self.too_slow() from error
        except BROKEN as error:
            raise self.cut_short() from error

    def _content(self, answer: HTTPResponse) -> bytes:
        deadline = time.monotonic() + self.timeout
        content, is_error = bytearray(), answer.status >= 400
        for piece in pieces(answer):
            content += piece
            if is_error:
                del content[REASON_BYTES:]
            self.check_limits(len(content), deadline)
        return bytes(content)


def _graph(body: bytes, iri: str | None = None) -> "Graph":
    from rdflib import Graph, URIRef

    graph = Graph(identifier=URIRef(iri)) if iri else Graph()
    return graph.parse(data=body, format="nt")
