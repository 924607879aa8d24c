"""Each competency question has the answer that follows from the facts.

Most are asked of made-up hosts, where the answer is computed from the facts in Python;
the others have a worked example in the cases of their query.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.questions.answerers import GoldQueries, score
from bench.questions.answers import ANSWERS
from bench.questions.facts import World
from bench.questions.generate import make_questions
from bench.questions.hosts import make_world
from bench.questions.load import load_world
from bench.questions.score import is_right
from core.stores.endpoint import Endpoint
from queries.catalogue import load_catalogue, saved_query
from queries.errors import CatalogueError
from queries.questions import Question, load_questions
from tests.queries.cases import all_cases
from tests.servers import Fuseki, VictoriaMetrics

QUESTIONS = load_questions()
ASKED = [each for each in QUESTIONS if each.query in ANSWERS]
SAMPLES = [name for name in load_catalogue() if name.startswith("samples/")]


@pytest.fixture(scope="module")
def world() -> World:
    return make_world()


@pytest.fixture(scope="module")
def twin(
    world: World, shared_fuseki: Fuseki, shared_store: VictoriaMetrics
) -> Iterator[Endpoint]:
    load_world(shared_fuseki.url, shared_store.url, world)
    with Endpoint(f"{shared_fuseki.url}/twin") as twin:
        yield twin
        twin.update("DROP ALL")


def test_there_are_a_hundred_questions_and_twenty_need_samples() -> None:
    assert len(QUESTIONS) == 100
    assert len([each for each in QUESTIONS if each.query in SAMPLES]) >= 20
    assert {each.query for each in QUESTIONS} >= set(SAMPLES)
    assert ANSWERS.keys() <= load_catalogue().keys()


def test_questions_are_answered_as_the_facts_say(world: World, twin: Endpoint) -> None:
    wrong = [each.ask for each in ASKED if not _is_right(each, world, twin)]
    assert not wrong


def _is_right(question: Question, world: World, twin: Endpoint) -> bool:
    """Ask in the hour before the end of the facts, however late it is now."""
    fixed = _fixed(question, world)
    answer = ANSWERS[question.query]
    gold = answer.rows(question.query, world, fixed)
    assert gold, f"{question.ask} has no answer: choose other parameters"
    return is_right(gold, _rows(twin, question.query, fixed))


def _fixed(question: Question, world: World) -> dict[str, Any]:
    names = saved_query(question.query).params
    params = dict(question.params)
    if question.query in SAMPLES and "until" in names:
        params |= world.hour
    return params


def _rows(twin: Endpoint, name: str, params: dict[str, Any]) -> list[list[Any]]:
    found = twin.table(saved_query(name).bind(params)).records()
    return [[row[column] for column in ANSWERS[name].columns] for row in found]


def test_queries_of_samples_take_defaults_and_unknown_hosts(twin: Endpoint) -> None:
    for name in SAMPLES:
        query = saved_query(name)
        assert twin.select(query.bind({})).columns == query.returns
        if "host" in query.params:
            assert not twin.select(query.bind({"host": "n99"})).rows, name


def test_other_questions_have_a_worked_example() -> None:
    cases = [(case.query, case.params) for case in all_cases() if case.rows]
    lacking = [
        each.ask
        for each in QUESTIONS
        if each.query not in ANSWERS and (each.query, dict(each.params)) not in cases
    ]
    assert not lacking


def test_wrong_question_names_what_is_wrong(tmp_path: Path) -> None:
    def load(entry: str) -> None:
        path = tmp_path / f"{abs(hash(entry))}.yaml"
        path.write_text(f"- topic: t\n  questions:\n    - {{{entry}}}\n")
        load_questions(path)

    with pytest.raises(CatalogueError, match="'a': needs ask and query"):
        load("ask: a")
    with pytest.raises(CatalogueError, match="'b': no saved query 'x/y'"):
        load("ask: b, query: x/y")
    with pytest.raises(CatalogueError, match="'c': .* no parameter 'z'"):
        load("ask: c, query: cache/sharing, params: {z: 1}")


def test_gold_queries_answer_all_phrased_questions(
    world: World, twin: Endpoint
) -> None:
    # Only with fixed times: these do not depend on how late it is.
    questions = make_questions(world, 100)
    fixed = [each for each in questions if "now" not in each.params.values()][:50]
    assert len(fixed) == 50
    shares = score(GoldQueries(twin), fixed)
    assert [(each.topic, each.right) for each in shares] == [
        (each.topic, each.asked) for each in shares
    ]
