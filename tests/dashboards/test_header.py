"""The ``panel:`` header: its fields, and a one-line error for each mistake."""

import re
from typing import Any

import pytest

from dashboards.header import SERIES_COLUMNS, PanelHeader, read_panels
from dashboards.roofline import LINES
from queries.catalogue import parse_query
from tests.dashboards.saved import SERIES, TABLE, query_text


def read(panel: Any, **more: Any) -> tuple[PanelHeader, ...]:
    return read_panels(parse_query("own/rows", query_text(panel, **more)))


def problem(panel: Any, **more: Any) -> str:
    (header,) = read(panel, **more)
    return header.problem


def test_mapping_is_one_panel_with_defaults() -> None:
    (header,) = read(SERIES)
    assert header.title == "Own"
    assert header.description == "Rows of a test."
    assert header.problem == ""
    assert header.draws_series
    assert header.split
    assert (header.width, header.height, header.stack) == (12, 8, False)
    assert (header.minimum, header.maximum, header.unit) == (None, None, "")


def test_list_is_several_panels_of_the_same_rows() -> None:
    first, second = read(
        [
            {**SERIES, "title": "A", "metrics": ["a.b", "c.*"], "minimum": 0},
            {**SERIES, "picture": "heatmap", "split": False, "unit": "PERCENT"},
        ]
    )
    assert (first.title, first.metrics, first.minimum) == ("A", ("a.b", "c.*"), 0.0)
    assert (second.picture, second.split, second.unit) == ("heatmap", False, "PERCENT")
    assert first.saved is second.saved


def test_table_knows_its_columns() -> None:
    (header,) = read({**TABLE, "columns": {"size": "BYTE"}}, columns=("host", "size"))
    text, number = header.table_columns
    assert (text.name, text.numeric, text.unit) == ("host", False, None)
    assert number.numeric
    assert number.unit is not None
    assert number.unit.qudt == "BYTE"


def test_query_without_the_header_is_not_a_panel() -> None:
    text = query_text(SERIES)
    lines = [line for line in text.splitlines() if not line.startswith("#+ panel")]
    assert read_panels(parse_query("own/rows", "\n".join(lines))) == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": "red"}, "unknown keys colour; known: columns, dashboard"),
        ({"picture": "pie"}, "picture must be one of timeseries, heatmap"),
        ({"picture": None}, "picture must be one of"),
        ({"picture": ["timeseries"]}, "picture must be one of"),
        ({"dashboard": ""}, "dashboard must be a text"),
        ({"dashboard": "../x"}, "dashboard must be a name such as monitor"),
        ({"dashboard": 5}, "dashboard must be a text"),
        ({"dashboard": "a" * 9999}, "dashboard must be a name such as .{0,80}$"),
        ({"title": " "}, "title must be a text"),
        ({"metrics": "a.b"}, "metrics must be a list of names"),
        ({"metrics": [1]}, "metrics must be a list of names"),
        ({"position": "first"}, "position must be a whole number"),
        ({"position": True}, "position must be a whole number"),
        ({"width": 25}, "width must be a whole number from 1 to 24"),
        ({"height": 0}, "height must be a whole number from 2 to 40"),
        ({"minimum": "low"}, "minimum must be a number"),
        ({"maximum": 10**400}, "maximum must be a number of at most"),
        ({"minimum": 1, "maximum": 1}, "minimum must be less than maximum"),
        ({"stack": "yes"}, "stack must be true or false"),
        ({"unit": "FURLONG"}, "no way to draw the unit 'FURLONG'"),
        ({"expression": "rate($series)"}, "expression needs a unit"),
        ({"expression": "rate(x)", "unit": "NUM"}, "expression must hold [$]series"),
        ({"columns": {"host": "NUM"}}, "columns are for tables"),
        ({"columns": []}, "columns must be a mapping"),
    ],
)
def test_invalid_header_gives_one_line(changes: dict[str, Any], message: str) -> None:
    problem_text = problem({**SERIES, **changes})
    assert re.match(f"queries/own/rows.rq: panel: {message}", problem_text), (
        problem_text
    )
    assert "\n" not in problem_text


@pytest.mark.parametrize(
    ("units", "more", "message"),
    [
        (
            {},
            {"columns": ("host", "name")},
            "needs the columns threads, intensity, limit",
        ),
        ({}, {"params": "{}"}, "needs the parameter host: a roofline shows one host"),
        ({"limit": "FLOPS"}, {}, "columns must state the units of intensity and limit"),
    ],
)
def test_roofline_needs_its_columns(
    units: dict[str, str], more: dict[str, Any], message: str
) -> None:
    panel = {**TABLE, "picture": "roofline", "columns": units}
    assert message in problem(panel, **{"columns": ("host", *LINES), **more})


def test_invalid_header_keeps_its_place() -> None:
    place = {"position": 7, "section": "Power", "title": "Fans", "width": 8}
    (header,) = read({**SERIES, **place, "height": 99, "picture": "timeserie"})
    found = {key: getattr(header, key) for key in place}
    assert (header.dashboard, found, header.height) == ("own", place, 8)
    assert not header.draws_series


def test_invalid_header_affects_no_other_panel() -> None:
    good, wrong = read([{**SERIES, "title": "A"}, {**SERIES, "width": "all"}])
    assert (good.title, good.problem) == ("A", "")
    assert "width must be a whole number" in wrong.problem


def test_invalid_dashboard_name_is_empty() -> None:
    (header,) = read({**TABLE, "dashboard": "../x"}, columns=("host",))
    assert header.dashboard == ""


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf"])
def test_axis_needs_an_end(value: str) -> None:
    """JSON has no number for these."""
    five, other = (f'"minimum": {each}' for each in ("5", value))
    text = query_text({**SERIES, "minimum": 5}).replace(five, other)
    (header,) = read_panels(parse_query("own/rows", text))
    assert "minimum must be a number of at most 1e+300" in header.problem


@pytest.mark.parametrize("column", SERIES_COLUMNS)
def test_panel_of_series_needs_its_columns(column: str) -> None:
    left = tuple(name for name in (*SERIES_COLUMNS, "x") if name != column)
    assert f"needs the columns {column} as well" in problem(SERIES, columns=left)


def test_panel_of_series_needs_the_host() -> None:
    assert "needs the parameter host" in problem(SERIES, params="{}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": {"weight": "NUM"}}, "columns names weight, which it does not"),
        ({"columns": {"size": "KibiBYTE"}}, "its unit must be BYTE, not KibiBYTE"),
        ({"columns": {"size": "FURLONG"}}, "no way to draw"),
        ({"metrics": ["a"], "stack": True}, "metrics, stack: not for tables"),
        ({"minimum": 0}, "minimum: not for tables"),
    ],
)
def test_invalid_table_header_is_reported(
    changes: dict[str, Any], message: str
) -> None:
    assert message in problem({**TABLE, **changes}, columns=("host", "size"))


def test_only_select_queries_can_be_drawn() -> None:
    text = query_text(TABLE, columns=(), params="{}", body="?s ?p ?o")
    text = text.replace("SELECT  WHERE", "ASK")
    (header,) = read_panels(parse_query("own/rows", text))
    assert "only a SELECT can be drawn" in header.problem
