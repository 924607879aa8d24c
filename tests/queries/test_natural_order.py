"""Rows of saved queries list node2 before node10, and otherwise keep their order."""

import pytest

from queries.catalogue import parse_query
from queries.natural_order import hosts_in_order

Rows = list[tuple[str, str]]


@pytest.mark.parametrize(
    ("order", "rows", "expected"),
    [
        (
            "?host DESC(?x)",
            [("n1", "9"), ("n10", "8"), ("n10", "7"), ("n2", "5")],
            [("n1", "9"), ("n2", "5"), ("n10", "8"), ("n10", "7")],
        ),
        (
            "DESC(?x) ?host",
            [("n9", "2"), ("n10", "1"), ("n2", "1"), ("n1", "0")],
            [("n9", "2"), ("n2", "1"), ("n10", "1"), ("n1", "0")],
        ),
        ("?x", [("n10", "1"), ("n2", "2")], [("n10", "1"), ("n2", "2")]),
        ("?hidden ?host", [("n10", "1"), ("n2", "2")], [("n10", "1"), ("n2", "2")]),
    ],
)
def test_only_the_order_of_hosts_changes(
    order: str, rows: Rows, expected: Rows
) -> None:
    text = (
        "#+ title: T\n#+ description: D\n#+ params: {}\n#+ returns: [host, x]\n"
        f"SELECT ?host ?x WHERE {{ ?host ?x ?hidden }} ORDER BY {order}\n"
    )
    query = parse_query("a/b", text)
    columns = {"host": 0, "x": 1}
    assert hosts_in_order(query, rows, lambda row, name: row[columns[name]]) == expected
