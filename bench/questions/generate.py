"""Makes phrased questions about made-up hosts, with gold SPARQL and gold answers.

The same seed and facts give the same questions. Templates take turns, so that each
topic has its share; a question whose answer is empty, or depends on a value near to its
limit, is left out.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from string import Formatter
from typing import Any

import yaml

from bench.questions.answers import ANSWERS, UnclearError
from bench.questions.answers.answer import Row
from bench.questions.facts import World
from bench.questions.slots import fill
from queries.catalogue import saved_query

_FILE = Path(__file__).with_name("templates.yaml")
# A template that gives no new question so often is exhausted.
_TRIES = 40


@dataclass(frozen=True)
class Phrased:
    """A question in words, the columns to answer, and what is right.

    ``query`` and ``params`` are the saved query; ``sparql`` is its text with them.
    """

    id: str
    topic: str
    question: str
    columns: tuple[str, ...]
    query: str
    params: Mapping[str, Any]
    sparql: str
    gold: Sequence[Row]

    def document(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Template:
    """Phrasings of one question, and how their slots fill the saved query."""

    topic: str
    query: str
    columns: tuple[str, ...]
    phrases: tuple[str, ...]
    params: Mapping[str, Any]

    @property
    def slots(self) -> set[str]:
        """The names of all slots."""
        texts = [*self.phrases, *map(str, self.params.values())]
        return {name for text in texts for name in _slots(text)}

    def question(self, world: World, choose: random.Random) -> Phrased | None:
        """A question with random slots; None if its answer is empty or unclear."""
        chosen = fill(self.slots, world, choose)
        params = {name: _value(text, chosen) for name, text in self.params.items()}
        try:
            rows = ANSWERS[self.query].rows(self.query, world, params)
        except UnclearError:
            return None
        gold = self._projected(rows)
        phrase = choose.choice(self.phrases).format(**chosen)
        text = saved_query(self.query).bind(params)
        # A sentence begins with a capital letter, wherever its slot comes from.
        asked = phrase[0].upper() + phrase[1:]
        return (
            Phrased("", self.topic, asked, self.columns, self.query, params, text, gold)
            if gold
            else None
        )

    def _projected(self, rows: Sequence[Row]) -> list[Row]:
        places = [ANSWERS[self.query].columns.index(name) for name in self.columns]
        found = [tuple(row[place] for place in places) for row in rows]
        return list(dict.fromkeys(found))


def make_questions(world: World, count: int = 1000, seed: int = 1) -> list[Phrased]:
    """So many different questions; fewer if the templates allow no more."""
    found: dict[str, Phrased] = {}
    for question in _questions(world, random.Random(seed)):
        found.setdefault(question.question, question)
        if len(found) == count:
            break
    numbered = enumerate(found.values(), 1)
    return [Phrased(**_fields(each) | {"id": f"q{n}"}) for n, each in numbered]


def read_templates() -> list[Template]:
    """All templates of the file."""
    return [
        Template(
            topic=entry["topic"],
            query=entry["query"],
            columns=tuple(entry["columns"]),
            phrases=tuple(entry["phrases"]),
            params=entry.get("params", {}),
        )
        for entry in yaml.safe_load(_FILE.read_text("utf-8"))
    ]


def _questions(world: World, choose: random.Random) -> Iterator[Phrased]:
    """Questions of the templates in turn, until all are exhausted."""
    templates, asked = read_templates(), set[str]()
    failed = dict.fromkeys(range(len(templates)), 0)
    for number in cycle(range(len(templates))):
        if not failed:
            return
        if number in failed:
            question = templates[number].question(world, choose)
            if question is None or question.question in asked:
                failed[number] += 1
                if failed[number] == _TRIES:
                    del failed[number]
            else:
                failed[number] = 0
                asked.add(question.question)
                yield question


def _fields(question: Phrased) -> dict[str, Any]:
    return vars(question).copy()


def _slots(text: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(text) if name]


def _value(text: Any, chosen: Mapping[str, Any]) -> Any:
    """The value of a slot as it is, or a constant."""
    names = _slots(str(text))
    return chosen[names[0]] if names else text
