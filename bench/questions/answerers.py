"""Programs that answer questions: the gold queries, and any over HTTP or MCP.

An answerer gets a question in words, the columns to answer, and the address of a
SuperTwin that knows the hosts; it returns rows with these columns.

- HTTP: a POST of ``{"question": …, "columns": […], "twin": …}`` is answered with
  ``{"rows": [[…], …]}``.
- MCP: a tool with the arguments ``question``, ``columns`` and ``twin`` returns the same
  object as its structured content or as text.

An answerer that fails, or returns anything else, has answered this question wrongly.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import httpx
from mcp import Client

from bench.questions.generate import Phrased
from bench.questions.score import Share, is_right, shares
from core.stores.endpoint import Endpoint
from core.stores.errors import EndpointError

Rows = list[list[Any]]
_PATIENCE = 120.0


class BadAnswerError(Exception):
    """The answerer failed, or did not return rows."""


class Answerer(Protocol):
    """Any program that answers questions; raises BadAnswerError."""

    def answer(self, question: Phrased) -> Rows:
        """The rows with the columns of a question."""


class GoldQueries:
    """Runs the gold SPARQL of each question on an endpoint."""

    def __init__(self, twin: Endpoint) -> None:
        self._twin = twin

    def answer(self, question: Phrased) -> Rows:
        try:
            found = self._twin.table(question.sparql).records()
        except EndpointError as error:
            raise BadAnswerError(str(error)) from error
        return [[row[name] for name in question.columns] for row in found]


class HttpAnswerer:
    """Sends each question to an address, with that of the twin."""

    def __init__(self, address: str, twin: str) -> None:
        self._address, self._twin = address, twin

    def answer(self, question: Phrased) -> Rows:
        try:
            answer = httpx.post(
                self._address, json=asked(question, self._twin), timeout=_PATIENCE
            ).raise_for_status()
            return rows_of(answer.json())
        except (httpx.HTTPError, ValueError) as error:
            raise BadAnswerError(str(error)) from error


class McpAnswerer:
    """Calls a tool of a server: its address, or a command that speaks over stdio."""

    def __init__(self, server: Any, twin: str, tool: str = "answer") -> None:
        self._server, self._twin, self._tool = server, twin, tool

    def answer(self, question: Phrased) -> Rows:
        # A server may fail in any way.
        try:
            return rows_of(asyncio.run(self._call(asked(question, self._twin))))
        except Exception as error:
            raise BadAnswerError(str(error)) from error

    async def _call(self, arguments: dict[str, Any]) -> Any:
        async with Client(self._server, read_timeout_seconds=_PATIENCE) as client:
            result = await client.call_tool(self._tool, arguments)
        if result.is_error:
            raise BadAnswerError(str(result.content))
        if result.structured_content is not None:
            return result.structured_content
        return result.content[0].text if result.content else None


def asked(question: Phrased, twin: str) -> dict[str, Any]:
    """What an answerer is told of a question: neither its query nor its answer."""
    return {
        "question": question.question,
        "columns": list(question.columns),
        "twin": twin,
    }


def rows_of(document: Any) -> Rows:
    """The rows of an answer; raises BadAnswerError."""
    document = json.loads(document) if isinstance(document, str) else document
    rows = document.get("rows") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise BadAnswerError('expected {"rows": [[…], …]}')
    return rows


def results(
    answerer: Answerer, questions: Iterable[Phrased]
) -> Iterator[tuple[Phrased, bool]]:
    """Each question, and whether it was answered rightly."""
    for question in questions:
        try:
            given: Sequence[Sequence[Any]] = answerer.answer(question)
            yield question, is_right(question.gold, given)
        except BadAnswerError:
            yield question, False


def score(answerer: Answerer, questions: Iterable[Phrased]) -> list[Share]:
    """The share of right answers of each topic, and of all."""
    return shares((each.topic, right) for each, right in results(answerer, questions))
