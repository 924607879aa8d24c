"""Every saved query against its worked examples: all on Fuseki, one on rdflib."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.stores.endpoint import Endpoint
from ingest.load.ontology import publish_ontology
from ontology.iris import Iris
from queries.catalogue import load_catalogue
from tests.queries.cases import Case, all_cases, load_data, plain
from tests.servers import Fuseki

# rdflib's own code still calls deprecated functions.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(Dataset.default_context|Dataset.contexts|ConjunctiveGraph) is deprecated"
)

CASES = all_cases()
# Functions of our extension of Fuseki, which rdflib does not have.
FUNCTIONS = re.compile(r"\) st:(treeOrder|distrib) \(|st:metricsQl")
# The first answer of each query that is not empty: rdflib only shows that the query is
# standard SPARQL, and takes several times as long as Fuseki.
PLAIN = {
    case.query: case
    for case in reversed(CASES)
    if case.rows and not FUNCTIONS.search(load_catalogue()[case.query].text)
}
IRIS = Iris("http://localhost:8000")
# `test_questions.py` asks those of samples.
OF_THE_GRAPH = {name for name in load_catalogue() if not name.startswith("samples/")}


def test_every_query_has_cases_with_a_default_and_an_empty_answer():
    lacking = {name: _lacking_cases(name) for name in OF_THE_GRAPH}
    assert not {name: kinds for name, kinds in lacking.items() if kinds}


def _lacking_cases(name: str) -> list[str]:
    """The kinds of cases that a saved query needs and lacks."""
    cases = [case for case in CASES if case.query == name]
    has = {
        "an empty answer": name in NEVER_EMPTY or any(not c.rows for c in cases),
        "only defaults": any(not c.params for c in cases),
        "parameters": not load_catalogue()[name].params or any(c.params for c in cases),
    }
    return [kind for kind, there in has.items() if not there]


# These always return one row, or take no parameters.
NEVER_EMPTY = {"why/no-data"}


def test_every_case_has_its_query():
    assert {case.query for case in CASES} == OF_THE_GRAPH


@pytest.mark.parametrize("case", PLAIN.values(), ids=str)
def test_rdflib_gives_the_expected_rows(case: Case):
    query = load_catalogue()[case.query]
    result = load_data(case.data).query(query.bind(case.params))
    assert [str(name) for name in result.vars] == query.returns
    assert [[plain(term) for term in row] for row in result] == case.rows


@pytest.fixture(scope="module")
def holding(shared_fuseki: Fuseki) -> Iterator[Callable[[Path], Endpoint]]:
    """Gives the store with the graphs of a file, the ontology and what follows.

    Queries do not change them.
    """
    held: list[Path] = []
    with Endpoint(f"{shared_fuseki.url}/twin") as twin:

        def hold(data: Path) -> Endpoint:
            if held != [data]:
                twin.update("DROP ALL")
                for graph in load_data(data).graphs():
                    if len(graph):
                        twin.put_graph(str(graph.identifier), graph)
                assert publish_ontology(twin, IRIS)
                held[:] = [data]
            return twin

        yield hold


# Sorted so that cases of the same file are consecutive.
@pytest.mark.parametrize("case", sorted(CASES, key=lambda case: case.data), ids=str)
def test_fuseki_with_the_ontology_gives_the_expected_rows(
    case: Case, holding: Callable[[Path], Endpoint]
) -> None:
    query = load_catalogue()[case.query]
    result = holding(case.data).select(query.bind(case.params))
    assert result.columns == query.returns
    assert [[plain(term) for term in row] for row in result.rows] == case.rows
