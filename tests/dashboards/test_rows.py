"""Unexpected rows: an error affects only its own panel."""

import json
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from core.stores.errors import EndpointUnreachableError
from core.stores.results import TermRows, read_rows
from dashboards.build import BoundQuery, build, run, run_all
from dashboards.grafana import render
from dashboards.header import SERIES_COLUMNS
from dashboards.lint import lint, panels
from dashboards.rows import cells
from dashboards.spec import Dashboard, Panel
from tests.dashboards.saved import SERIES, query_text, save, saved_dashboards

BASE = "http://localhost:8000"
XSD = "http://www.w3.org/2001/XMLSchema#"
COLUMNS = (*SERIES_COLUMNS, "section", "sectionComponent", "total")
GOOD = {
    "host": "n1",
    "component": f"{BASE}/twin/n1/disk/a",
    "label": "a",
    "metric": "disk.dev.read",
    "dbName": "disk_dev_read",
    "instname": "sda",
    "semantics": "instant",
}

Cell = str | tuple[str, str]


def term(cell: Cell) -> dict[str, str]:
    """A literal, of a type where one is given."""
    if isinstance(cell, str):
        return {"type": "literal", "value": cell}
    return {"type": "literal", "value": cell[0], "datatype": XSD + cell[1]}


def answer(columns: tuple[str, ...], *rows: dict[str, Cell]) -> TermRows:
    bindings = [{name: term(cell) for name, cell in row.items()} for row in rows]
    body = {"head": {"vars": list(columns)}, "results": {"bindings": bindings}}
    return read_rows(json.dumps(body).encode())


def drawn(folder: Path, *rows: dict[str, Cell]) -> Dashboard:
    """A dashboard of these rows, and of a query whose rows are good."""
    save(folder, "own/odd", query_text(SERIES, COLUMNS))
    save(folder, "own/plain", query_text({**SERIES, "title": "Good"}, COLUMNS))

    def ask(question: BoundQuery) -> TermRows:
        if question.query == "inventory/names":
            return answer(("host",), {"host": "n1"})
        given = {"own/odd": rows, "own/plain": (GOOD,)}.get(question.query, ())
        return answer(COLUMNS, *given)

    return run(build("own", "n1", BASE, saved_dashboards(folder)), ask)


def odd(dashboard: Dashboard) -> Panel:
    """The panel of the odd rows; asserts that the other panel is unaffected."""
    found = [p for section in dashboard.sections for p in section.panels]
    (good,) = (panel for panel in found if panel.title == "Good")
    assert (good.problem, len(good.series)) == ("", 1)
    (panel,) = (panel for panel in found if panel.title != "Good")
    return panel


@pytest.mark.parametrize(
    "total",
    [
        *(("NaN", "double"), ("INF", "double"), ("-1", "integer"), ("x", "string")),
        *(("NaN", "decimal"), ("1e9999999", "decimal"), ("1e-9999999", "decimal")),
        *(("true", "boolean"), ("2020-01-01", "date"), ("9" * 4000, "integer")),
    ],
)
def test_total_that_is_not_a_number_is_reported_for_its_panel(
    tmp_path: Path, total: tuple[str, str]
) -> None:
    dashboard = drawn(tmp_path, {**GOOD, "total": total})
    assert "as total: it must be a positive number" in odd(dashboard).problem
    assert len(odd(dashboard).problem) < 200
    assert lint(render(dashboard)) == []


@pytest.mark.parametrize(
    "total", [("0", "integer"), ("1", "integer"), ("1.0", "double")]
)
def test_shares_of_zero_are_omitted(tmp_path: Path, total: tuple[str, str]) -> None:
    (target,) = odd(drawn(tmp_path, {**GOOD, "total": total})).targets
    assert target.expression.startswith("disk_dev_read{")
    assert target.expression.endswith("}")


def test_empty_instance_means_no_instance(tmp_path: Path) -> None:
    """In the store, an empty label is the same as no label."""
    dashboard = drawn(tmp_path, {**GOOD, "instname": ""})
    assert [one.instname for one in odd(dashboard).series] == [None]
    assert lint(render(dashboard)) == []


@pytest.mark.parametrize("iri", ["", "javascript:alert(1)", "urn:x"])
def test_invalid_addresses_are_not_linked(tmp_path: Path, iri: str) -> None:
    row = {**GOOD, "component": iri, "section": "S", "sectionComponent": iri}
    document = render(drawn(tmp_path, row))
    assert lint(document) == []
    assert "javascript" not in json.dumps(document)


def test_panel_may_have_a_thousand_metrics(tmp_path: Path) -> None:
    rows = [
        {**GOOD, "metric": f"a.m{at}", "dbName": f"a_m{at}", "label": f"m{at}"}
        for at in range(1000)
    ]
    document = render(drawn(tmp_path, *rows))
    assert lint(document) == []
    names = [t["refId"] for p in panels(document) for t in p["targets"] if p["targets"]]
    assert names[:2] + names[25:28] + names[701:703] == [
        *("A", "B"),
        *("Z", "AA", "AB"),
        *("ZZ", "AAA"),
    ]


@pytest.mark.parametrize(
    ("value", "type_", "cell"),
    [
        ("NaN", "double", "nan"),
        ("INF", "double", "inf"),
        ("-INF", "double", "-inf"),
        ("NaN", "decimal", "NaN"),
        ("1e9999999", "decimal", "1E+9999999"),
        ("9223372036854775807", "integer", 2**63 - 1),
        ("9223372036854775808", "integer", "9223372036854775808"),
        ("1.5", "decimal", 1.5),
        ("true", "boolean", True),
        ("2020-01-01", "date", "2020-01-01"),
    ],
)
def test_cells_are_json_values(value: str, type_: str, cell: Any) -> None:
    ((found,),) = cells(answer(("x",), {"x": (value, type_)}))
    assert found == cell
    assert type(found) is type(cell)
    assert json.loads(orjson.dumps(found)) == cell


def test_concurrent_builds_share_their_queries(tmp_path: Path) -> None:
    alone = drawn(tmp_path, GOOD)
    asked: list[str] = []
    both = threading.Barrier(2)

    def ask(question: BoundQuery) -> TermRows:
        asked.append(question.sparql)
        if question.query == "inventory/names":
            return answer(("host",), {"host": "n1"})
        if question.query in ("own/odd", "own/plain"):  # these two run at the same time
            both.wait(timeout=60)
            return answer(COLUMNS, GOOD)
        return answer(COLUMNS)

    dashboards = saved_dashboards(tmp_path)
    builds = [build("own", "n1", BASE, dashboards) for _ in range(3)]
    assert run_all(builds, ask, at_once=2) == [alone] * 3
    assert len(asked) == len({*asked})


def test_unreachable_store_ends_all_builds(tmp_path: Path) -> None:
    drawn(tmp_path)

    def ask(question: BoundQuery) -> TermRows:
        raise EndpointUnreachableError("the store is unreachable")

    dashboards = saved_dashboards(tmp_path)
    builds = [build("own", "n1", BASE, dashboards) for _ in range(2)]
    with pytest.raises(EndpointUnreachableError, match="unreachable"):
        run_all(builds, ask, at_once=2)
