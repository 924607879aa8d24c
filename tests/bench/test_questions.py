"""Phrased questions, their scores, and the programs that answer them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from mcp.server import MCPServer

from bench.questions.__main__ import main
from bench.questions.answerers import HttpAnswerer, McpAnswerer, score
from bench.questions.generate import Phrased, make_questions, read_templates
from bench.questions.hosts import make_world
from bench.questions.score import is_right
from tests.ports import LOOPBACK

NOW = 1_795_000_000.0
QUESTIONS = make_questions(make_world(now=NOW), 40)
BY_TEXT = {each.question: each for each in QUESTIONS}


def test_questions_are_different_and_the_same_for_a_seed() -> None:
    assert len(BY_TEXT) == 40
    assert make_questions(make_world(now=NOW), 40) == QUESTIONS
    assert make_questions(make_world(now=NOW), 40, seed=2) != QUESTIONS
    assert all(each.gold for each in QUESTIONS)


def test_there_are_a_thousand_questions_of_every_template() -> None:
    questions = make_questions(make_world(hosts=12, now=NOW))
    assert len({each.question for each in questions}) == 1000
    assert {each.query for each in questions} == {t.query for t in read_templates()}


@pytest.mark.parametrize(
    ("gold", "given"),
    [
        ([("n1", 3), ("n2", 4)], [["n2", "4"], ["n1", 3.0], ["n1", 3]]),
        ([("n1", 100.0)], [["n1", Decimal("101.5")]]),
        ([("a", None)], [["a", ""]]),
        ([(True,)], [["true"]]),
        ([(NOW,)], [[datetime.fromtimestamp(NOW + 50, UTC)]]),
    ],
)
def test_equal_answers_are_right(gold: Any, given: Any) -> None:
    assert is_right(gold, given)


@pytest.mark.parametrize(
    ("gold", "given"),
    [
        ([("n1", 3)], []),
        ([("n1", 3)], [["n1", 3], ["n1", 4]]),
        ([("n1", 3), ("n2", 4)], [["n1", 3]]),
        # The number of a CPU is not a measurement.
        ([(100,)], [[101]]),
        ([(100.0,)], [[103]]),
        ([("n1", 3)], [[3, "n1"]]),
        ([("n1",)], [["n1", 3]]),
        ([(NOW,)], [[datetime.fromtimestamp(NOW + 90, UTC)]]),
    ],
)
def test_other_answers_are_wrong(gold: Any, given: Any) -> None:
    assert not is_right(gold, given)


def reply(asked: dict[str, Any]) -> dict[str, Any]:
    """Answer rightly, except for questions about jobs."""
    assert asked["twin"] == "http://twin"
    question = BY_TEXT[asked["question"]]
    assert asked["columns"] == list(question.columns)
    return {"rows": [] if question.topic == "jobs" else [*map(list, question.gold)]}


@contextmanager
def served() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802
            size = int(self.headers["Content-Length"])
            body = json.dumps(reply(json.loads(self.rfile.read(size)))).encode()
            self.send_response(200 if self.path == "/answer" else 500)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer((LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{LOOPBACK}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def check(shares: Any) -> None:
    percent = {share.topic: share.percent for share in shares}
    jobs = [each for each in QUESTIONS if each.topic == "jobs"]
    assert percent.pop("jobs") == 0
    assert percent.pop("all") == pytest.approx(100 * (1 - len(jobs) / 40))
    assert set(percent.values()) == {100}


def test_program_over_http_is_scored_by_topic() -> None:
    with served() as address:
        check(score(HttpAnswerer(f"{address}/answer", "http://twin"), QUESTIONS))
        failing = score(HttpAnswerer(f"{address}/wrong", "http://twin"), QUESTIONS[:2])
    assert failing[-1].right == 0


@pytest.mark.parametrize("as_text", [False, True])
def test_program_over_mcp_is_scored_by_topic(*, as_text: bool) -> None:
    server = MCPServer("answers")

    @server.tool(structured_output=not as_text)
    def answer(question: str, columns: list[str], twin: str) -> dict[str, Any]:
        return reply({"question": question, "columns": columns, "twin": twin})

    check(score(McpAnswerer(server, "http://twin"), QUESTIONS))
    other = McpAnswerer(server, "http://twin", "no such tool")
    assert score(other, QUESTIONS[:1])[-1].right == 0


def test_command_prints_questions_with_gold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["--count", "3", "--hosts", "4"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["id"] for line in lines] == ["q1", "q2", "q3"]
    assert lines[0].keys() == Phrased.__dataclass_fields__.keys()
