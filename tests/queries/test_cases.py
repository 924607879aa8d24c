"""Every saved query against its worked examples, on rdflib and on Fuseki."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from queries.catalogue import load_catalogue
from queries.endpoint import Endpoint
from tests.queries.cases import Case, all_cases, case_file, load_data, plain
from tests.servers import Fuseki

# rdflib's own code still calls what it deprecates.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(Dataset.default_context|Dataset.contexts|ConjunctiveGraph) is deprecated"
)

CASES = all_cases()


@pytest.mark.parametrize("name", load_catalogue())
def test_every_query_has_cases_with_a_default_and_an_empty_answer(name):
    assert case_file(name).exists(), f"{name} needs {case_file(name)}"
    cases = [case for case in CASES if case.query == name]
    assert any(not case.rows for case in cases) or name in NEVER_EMPTY
    assert any(not case.params for case in cases)
    if load_catalogue()[name].params:
        assert any(case.params for case in cases)


# These answer one row whatever is asked, or take no parameters.
NEVER_EMPTY = {"why/no-data"}


def test_no_case_is_left_without_its_query():
    assert {case.query for case in CASES} == set(load_catalogue())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rdflib_answers_the_case(case: Case):
    query = load_catalogue()[case.query]
    result = load_data(case.data).query(query.bind(case.params))
    assert [str(name) for name in result.vars] == query.returns
    assert [[plain(term) for term in row] for row in result] == case.rows


@pytest.fixture(scope="module")
def holding(shared_fuseki: Fuseki) -> Iterator[Callable[[Path], Endpoint]]:
    """Gives the store with the graphs of a file: queries leave them as they are."""
    held: list[Path] = []
    with Endpoint(f"{shared_fuseki.url}/twin") as twin:

        def hold(data: Path) -> Endpoint:
            if held != [data]:
                twin.update("DROP ALL")
                for graph in load_data(data).graphs():
                    if len(graph):
                        twin.put_graph(str(graph.identifier), graph)
                held[:] = [data]
            return twin

        yield hold


# Those of one file follow each other.
@pytest.mark.parametrize("case", sorted(CASES, key=lambda case: case.data), ids=str)
def test_fuseki_answers_the_case(
    case: Case, holding: Callable[[Path], Endpoint]
) -> None:
    query = load_catalogue()[case.query]
    result = holding(case.data).select(query.bind(case.params))
    assert result.columns == query.returns
    assert [[plain(term) for term in row] for row in result.rows] == case.rows
