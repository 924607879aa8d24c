"""Questions in words: print them, or score a program that answers them."""

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters

from bench.questions.answerers import (
    Answerer,
    HttpAnswerer,
    McpAnswerer,
    results,
)
from bench.questions.generate import make_questions
from bench.questions.hosts import make_world
from bench.questions.run import COUNT, HOSTS, SEED, loaded
from bench.questions.score import shares
from tests.api.servers import own_api


def main(arguments: Sequence[str] | None = None) -> None:
    """Make questions, and print them or their score."""
    wanted = _parser().parse_args(arguments)
    world = make_world(wanted.seed, wanted.hosts)
    questions = make_questions(world, wanted.count, wanted.seed)
    if not wanted.http and not wanted.mcp:
        for question in questions:
            print(json.dumps(question.document(), ensure_ascii=False))
        return
    right = []
    with loaded(world) as (fuseki, series), _api(fuseki, series) as twin:
        print(f"the twin is {twin}", file=sys.stderr)
        for question, is_right in results(_answerer(wanted, twin), questions):
            right.append((question.topic, is_right))
            if not is_right:
                print(f"wrong: {question.id} {question.question}", file=sys.stderr)
    for share in shares(right):
        print(
            f"{share.percent:5.1f} %  {share.right:4} of {share.asked:4}  {share.topic}"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("bench.questions", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="so many questions")
    parser.add_argument("--seed", type=int, default=SEED, help="other questions")
    parser.add_argument("--hosts", type=int, default=HOSTS, help="so many hosts")
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--http", help="score a program at this address")
    asked.add_argument("--mcp", help="score an MCP server: its address or command")
    parser.add_argument("--tool", default="answer", help="the tool of the MCP server")
    return parser


def _answerer(wanted: argparse.Namespace, twin: str) -> Answerer:
    if wanted.http:
        return HttpAnswerer(wanted.http, twin)
    server: Any = wanted.mcp
    if not server.startswith(("http://", "https://")):
        command, *words = shlex.split(server)
        server = StdioServerParameters(command=command, args=words)
    return McpAnswerer(server, twin, wanted.tool)


@contextmanager
def _api(fuseki: str, series: str) -> Iterator[str]:
    """The address of an API that knows the hosts."""
    with tempfile.TemporaryDirectory(prefix="supertwin-bench-") as home:
        base = "http://localhost:8000"
        with own_api(Path(home), base, fuseki, series) as api:
            yield api.url


if __name__ == "__main__":
    main()
