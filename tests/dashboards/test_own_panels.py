"""Panels of custom queries: an error in one affects only its own panel."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.stores.endpoint import Endpoint
from dashboards.spec import Panel
from tests.dashboards.conftest import Servers
from tests.dashboards.saved import SERIES, TABLE, query_text, save
from tests.dashboards.test_build import made, panels


@pytest.fixture(scope="module")
def graph(servers: Servers) -> Iterator[Endpoint]:
    with Endpoint(f"{servers.fuseki}/twin") as twin:
        yield twin


def test_failed_query_affects_only_its_panel(graph: Endpoint, tmp_path: Path) -> None:
    save(tmp_path, "a/good", query_text({**TABLE, "position": 1}, columns=("host",)))
    # The tokeniser accepts it, but no store does.
    bad = query_text({**TABLE, "position": 2}, ("x",), "{}", "?x ?y ?z ; ; ?x , .")
    save(tmp_path, "a/bad", bad)
    good, spoilt = panels(made(graph, "own", "", tmp_path)).values()
    assert (good.problem, good.why) == ("", ("the twin has no data about this",))
    assert spoilt.problem.startswith("Fuseki cannot read the query: ")
    assert "\n" not in spoilt.problem
    assert spoilt.table is None


def test_invalid_header_affects_only_its_panel(graph: Endpoint, tmp_path: Path) -> None:
    save(tmp_path, "a/good", query_text({**TABLE, "position": 1}, columns=("host",)))
    wrong = {**SERIES, "picture": "timeserie", "position": 2}
    save(tmp_path, "b/wrong", query_text(wrong))
    good, spoilt = panels(made(graph, "own", "", tmp_path)).values()
    assert good.problem == ""
    assert spoilt.problem.startswith("queries/b/wrong.rq: panel: picture must be one")


ROW = (
    'BIND ("a" AS ?component) BIND ("b" AS ?label) BIND ("m" AS ?dbName)'
    "VALUES (?metric ?instname ?semantics ?unit ?panel) {{ {rows} }}"
    "?node <https://w3id.org/supertwin/ns#hostname> ?host ."
)
UNIT = "<http://qudt.org/vocab/unit/{}>"


def own_panels(graph: Endpoint, folder: Path, header: Any, *rows: str) -> list[Panel]:
    """The panels of a custom query with these result rows."""
    columns = ("host", "component", "label", "metric", "dbName")
    columns += ("instname", "semantics", "unit", "panel")
    body = ROW.format(rows=" ".join(f"({row})" for row in rows))
    save(folder, "a/own", query_text({**SERIES, **header}, columns, body=body))
    return list(panels(made(graph, "own", "big", folder)).values())


def test_panel_has_one_unit(graph: Endpoint, tmp_path: Path) -> None:
    rows = [
        f'"a" "x" "instant" {UNIT.format("BYTE")} "one"',
        f'"a" "y" "instant" {UNIT.format("SEC")} "two"',
    ]
    (mixed,) = own_panels(graph, tmp_path, {"split": False}, *rows)
    assert mixed.problem.startswith("the rows have several units, BYTE and SEC: split")
    assert not mixed.targets
    one, two = own_panels(graph, tmp_path, {}, *rows)
    assert one.unit
    assert two.unit
    assert (one.unit.qudt, two.unit.qudt) == ("BYTE", "SEC")
    assert (one.title, one.width) == ("one", 12)


def test_units_that_scale_to_one_share_a_panel(graph: Endpoint, tmp_path: Path) -> None:
    (panel,) = own_panels(
        graph,
        tmp_path,
        {"split": False},
        f'"a" "x" "instant" {UNIT.format("KibiBYTE")} ""',
        f'"a" "y" "instant" {UNIT.format("BYTE")} ""',
    )
    assert [target.expression for target in panel.targets] == [
        'm{hostname="big",instname="x"} * 1024',
        'm{hostname="big",instname="y"}',
    ]
    assert [series.target for series in panel.series] == [0, 1]


def test_unknown_unit_is_a_problem_of_its_panel(
    graph: Endpoint, tmp_path: Path
) -> None:
    (panel,) = own_panels(graph, tmp_path, {}, '"a" "x" "instant" <urn:furlong> ""')
    assert panel.problem.startswith("no way to draw the unit 'urn:furlong'; known:")


def test_rows_of_other_metrics_are_not_drawn(graph: Endpoint, tmp_path: Path) -> None:
    (panel,) = own_panels(
        graph,
        tmp_path,
        {"metrics": ["a.*"]},
        '"a.b" "x" "instant" UNDEF ""',
        '"c.d" "y" "instant" UNDEF ""',
    )
    assert [series.metric for series in panel.series] == ["a.b"]


def test_equal_titles_get_distinct_ids(graph: Endpoint, tmp_path: Path) -> None:
    first, second = own_panels(
        graph,
        tmp_path,
        {},
        '"a" "x" "instant" UNDEF "é!"',
        '"a" "y" "instant" UNDEF "è?"',
    )
    assert (first.id, second.id) == ("own", "own-2")
