"""How pages format text and order lists."""

import pytest
from rdflib import Graph, Literal, URIRef

from api.dashboards.twin_state import TwinState
from api.web.pages import prose
from ontology.terms import ST
from queries.hosts import unknown_host
from queries.natural_order import natural


@pytest.mark.parametrize(
    "ordered",
    [
        ["thread 9", "thread 10", "thread 10a"],
        ["big", "quiet"],
        ["node", "node1", "node02", "node2b", "node10"],
        ["", "1", "a"],
        ["x" + "9" * 5000, "x1" + "0" * 5000],
    ],
    ids=lambda names: names[0][:20],
)
def test_numbers_in_names_count_as_numbers(ordered: list[str]) -> None:
    backwards = ordered[::-1]
    assert sorted(backwards, key=natural) == ordered


def test_hosts_are_listed_in_natural_order() -> None:
    names = ["node10", "node2"]
    known = Graph()
    for name in names:
        known.add((URIRef(f"urn:{name}"), ST.hostname, Literal(name)))
    state = TwinState(hosts=tuple((name, "", "") for name in names))
    assert state.names == ["node2", "node10"]
    assert "known: node2, node10" in unknown_host("x", known).detail


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("compares by `supertwin diff`.", "compares by <code>supertwin diff</code>."),
        ("`a<b` and `c`", "<code>a&lt;b</code> and <code>c</code>"),
        ("<i>one ` alone", "&lt;i&gt;one ` alone"),
    ],
)
def test_backticks_are_code(text: str, html: str) -> None:
    assert prose(text) == html
