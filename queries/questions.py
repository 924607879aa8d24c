"""The competency questions: questions in words, each with its saved query.

`questions.yaml` is their only source. Tests ask each of them, and `make docs` writes
docs/questions.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from shlex import join
from typing import Any
from urllib.parse import urlencode

import yaml

from queries.binding import Scalar
from queries.catalogue import saved_query
from queries.errors import CatalogueError, ParameterError, UnknownQueryError

_FILE = Path(__file__).with_suffix(".yaml")
_KEYS = {"ask", "query", "params", "like"}


@dataclass(frozen=True)
class Question:
    """A question in words, and the saved query with the parameters that answers it.

    ``like`` is the question of ExaBench-QA that it restates, if any.
    """

    topic: str
    ask: str
    query: str
    params: Mapping[str, Scalar] = field(default_factory=dict)
    like: str = ""

    @property
    def command(self) -> str:
        """The saved query and its options, as `supertwin query` takes them."""
        options = [
            word
            for name, value in self.params.items()
            for word in (f"--{name}", str(value))
        ]
        return join([self.query, *options])

    @property
    def address(self) -> str:
        """The path of its page, with the parameters."""
        parameters = urlencode(self.params)
        return f"/queries/{self.query}" + (f"?{parameters}" if parameters else "")

    @property
    def sparql(self) -> str:
        """The query with its parameters."""
        return saved_query(self.query).bind(self.params)


@cache
def load_questions(path: Path = _FILE) -> list[Question]:
    """All questions of a file, topic by topic; raises CatalogueError."""
    document = yaml.safe_load(path.read_text("utf-8"))
    found = [
        _question(topic["topic"], entry)
        for topic in document
        for entry in topic["questions"]
    ]
    asked = [question.ask for question in found]
    twice = {ask for ask in asked if asked.count(ask) > 1}
    if twice:
        raise CatalogueError(f"{path}: asked twice: {min(twice)}")
    return found


def _question(topic: str, entry: Mapping[str, Any]) -> Question:
    ask = str(entry.get("ask", ""))
    if not {"ask", "query"} <= entry.keys() <= _KEYS:
        raise CatalogueError(f"question {ask!r}: needs ask and query, may have params")
    question = Question(topic=topic, **entry)
    try:
        question.sparql  # noqa: B018
    except (ParameterError, UnknownQueryError) as error:
        raise CatalogueError(f"question {ask!r}: {error}") from error
    return question


_INTRODUCTION = """# Questions

What a twin must be able to answer: 100 questions that people have about machines, in
their words. Each has a saved query. Run it with `supertwin query` and the words of the
second column, or open the link on a running SuperTwin. On the command line, a query
without `--host` may ask about this host only; `--host ''` asks about every host. The
hosts, jobs and other names are examples: the tests ask the questions of made-up hosts
with these names.

The queries of the group `samples` join the graph with [samples](samples-in-sparql.md)
in one query. [benchmarks.md](benchmarks.md#questions-in-words) says how to score a
program that answers 1,000 questions of this kind.
"""
_END = """## Sources

Khan and Bartolini validate their ontology for operational data analytics with 36
competency questions ([arXiv 2507.06107](https://arxiv.org/abs/2507.06107)). Only the
abstract of this paper was available, which does not list them, so it is not known how
many of the 36 are among these 100. The abstract names these areas:

| area | here |
|---|---|
| compute | the topics machine, counters and samples |
| memory | the topic memory |
| power | `samples/power`, `samples/partition-power` and `samples/job-power` |
| cooling | only the temperatures of sensors, `samples/hot` |
| storage | disks: `inventory/disks`, `inventory/disk-health` and `samples/disks` |
| several systems | a question without a host is about all hosts of one SuperTwin |

Questions with a star restate one of
[ExaBench-QA](https://github.com/MSKazemi/ExaBench-QA), a collection of questions about
operational data analytics. Its questions about racks, cooling, PUE, groups of users and
failing nodes have no counterpart here, because a twin does not describe these things.
It does not describe a scheduler's queue either: a job begins when its control group is
[noticed](jobs.md), not when it is submitted.
"""


def questions_page() -> str:
    """Markdown with a table of questions for each topic."""
    return f"{_INTRODUCTION}\n{''.join(map(_section, _topics()))}{_END}"


def _topics() -> Iterator[str]:
    yield from dict.fromkeys(question.topic for question in load_questions())


def _section(topic: str) -> str:
    lines = [f"## {topic.capitalize()}", "", "| question | query |", "|---|---|"]
    lines += [_row(each) for each in load_questions() if each.topic == topic]
    return "\n".join([*lines, "", ""])


def _row(question: Question) -> str:
    star = " \\*" if question.like else ""
    address = f"http://localhost:8000{question.address}"
    return f"| {question.ask}{star} | [`{question.command}`]({address}) |"
