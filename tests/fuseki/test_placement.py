"""The functions that place threads, called as a client of Fuseki calls them."""

from collections.abc import Iterator
from typing import Any

import pytest

from core.stores.endpoint import Endpoint
from core.stores.errors import QuerySyntaxError
from tests.ingest.documents import synthetic
from tests.pinning.table import load
from tests.servers import Fuseki

TWO_SOCKETS = "pack:2 core:2 pu:2(indexes=2*4:1*2)"


@pytest.fixture(scope="module")
def twin(
    emptied_fuseki: Fuseki, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Endpoint]:
    path = tmp_path_factory.mktemp("machine") / "m.xml"
    path.write_bytes(synthetic(TWO_SOCKETS))
    with Endpoint(f"{emptied_fuseki.url}/twin") as twin:
        for host in ("n1", "n2"):
            load(twin, path, host)
        yield twin


def rows(twin: Endpoint, pattern: str) -> list[list[Any]]:
    """The numbers in the rows; a thread by that at the end of its IRI."""
    query = f"PREFIX st: <https://w3id.org/supertwin/ns#> SELECT * {{ {pattern} }}"
    return [[*_numbers(row)] for row in twin.table(query).rows]


def _numbers(row: list[Any]) -> Iterator[Any]:
    for value in row:
        is_iri = isinstance(value, str) and "/" in value
        yield int(value.rpartition("/")[2]) if is_iri else value


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (
            '("n1") st:treeOrder (?rank ?thread)',
            [[0, 0], [1, 4], [2, 1], [3, 5], [4, 2], [5, 6], [6, 3], [7, 7]],
        ),
        ('("n1" "1-2,7") st:treeOrder (?rank ?thread)', [[0, 1], [1, 2], [2, 7]]),
        ('("n1" 2) st:distrib (?rank ?thread)', [[0, 0], [1, 2]]),
        ('("n1" 2 "1,5,3") st:distrib (?rank ?thread)', [[0, 1], [1, 3]]),
        ('("n1" 2) st:distrib (?rank ?thread ?numa)', [[0, 0, 0], [1, 2, 0]]),
        # A value before the function is compared.
        ('("n1") st:treeOrder (3 ?thread)', [[5]]),
        ('VALUES ?rank { 1 } ("n1" 2) st:distrib (?rank ?thread)', [[1, 2]]),
        # A host without as many threads, and no host.
        ('("n1" 9) st:distrib (?rank ?thread)', []),
        ('("n1" 0) st:distrib (?rank ?thread)', []),
        ('("n9") st:treeOrder (?rank ?thread)', []),
        # A list of CPUs without a value restricts nothing.
        ('("n1" 1 ?among) st:distrib (?rank ?thread)', [[None, 0, 0]]),
    ],
)
def test_functions_give_the_expected_rows(
    twin: Endpoint, pattern: str, expected: list[list[int]]
) -> None:
    assert rows(twin, pattern) == expected


def test_hosts_are_placed_one_by_one(twin: Endpoint) -> None:
    pattern = "?node st:hostname ?host . (?host 2) st:distrib (?rank ?thread)"
    query = f"PREFIX st: <https://w3id.org/supertwin/ns#> SELECT * {{ {pattern} }}"
    found = {(row["host"], row["rank"]) for row in twin.table(query).records()}
    assert found == {(host, rank) for host in ("n1", "n2") for rank in (0, 1)}


@pytest.mark.parametrize(
    "pattern",
    [
        "(?host 2) st:distrib (?rank ?thread)",
        "(<http://h/n1> 2) st:distrib (?rank ?thread)",
        '("n1") st:distrib (?rank ?thread)',
        '("n1" ?count) st:distrib (?rank ?thread)',
        '("n1" 1.5) st:distrib (?rank ?thread)',
        '("n1" "many") st:distrib (?rank ?thread)',
        '("n1" 2 "0-") st:distrib (?rank ?thread)',
        '("n1" 2 "0" "1") st:distrib (?rank ?thread)',
        '("n1" 2) st:distrib ?thread',
        '("n1" 2) st:distrib (?thread)',
        '"n1" st:treeOrder (?rank ?thread)',
        '("n1" <http://h/0>) st:treeOrder (?rank ?thread)',
    ],
)
def test_wrong_arguments_are_refused(twin: Endpoint, pattern: str) -> None:
    with pytest.raises(QuerySyntaxError, match="st:(distrib|treeOrder): "):
        rows(twin, pattern)
