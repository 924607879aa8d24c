"""The neutral spec as Grafana's JSON: layout, series, tables, and literal texts."""

import json
from dataclasses import replace
from typing import Any

import pytest

from dashboards.grafana import render, uid
from dashboards.grafana_text import (
    VARIABLE,
    plain,
)
from dashboards.lint import panels
from dashboards.spec import Dashboard, Section
from tests.dashboards import specs
from tests.dashboards.conftest import Made
from tests.dashboards.specs import dashboard, panel, series, table_panel


def first(document: dict[str, Any]) -> dict[str, Any]:
    """The first panel that is not a row."""
    return dict(next(iter(panels(document))))


def properties(drawn: dict[str, Any], field: str) -> dict[str, Any]:
    """The overrides of a field by id."""
    found = [
        one["properties"]
        for one in drawn["fieldConfig"]["overrides"]
        if one["matcher"] == {"id": "byName", "options": field}
    ]
    assert len(found) == 1, field
    return {one["id"]: one["value"] for one in found[0]}


# ---- the whole ----------------------------------------------------------------------


def test_dashboard_of_a_host_is_rendered() -> None:
    document = render(dashboard(panel(series("cpu0"))))
    assert document["uid"] == "supertwin-monitor-n1"
    assert document["title"] == "Monitor · n1"
    assert document["tags"] == ["supertwin", "monitor"]
    assert document["refresh"] == "5s"
    assert document["time"] == {"from": "now-15m", "to": "now"}
    assert [one["name"] for one in document["templating"]["list"]] == ["metrics"]
    hosts = document["links"][0]
    assert (hosts["type"], hosts["tags"]) == ("dashboards", ["supertwin", "monitor"])
    assert hosts["asDropdown"]
    assert document["links"][-1]["url"] == f"{specs.BASE}/dashboards/monitor?host=n1"


def test_same_spec_gives_the_same_text(made: list[Made]) -> None:
    for one in made:
        assert json.dumps(render(one.spec)) == json.dumps(one.document)


def test_renderer_returns_plain_values_only(made: list[Made]) -> None:
    for one in made:
        assert json.loads(json.dumps(one.document)) == one.document


def test_every_panel_of_the_spec_is_rendered(made: list[Made]) -> None:
    for one in made:
        wanted = [panel for section in one.spec.sections for panel in section.panels]
        drawn = list(panels(one.document))
        assert [plain(panel.title) for panel in wanted] == [p["title"] for p in drawn]


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("monitor", "A"),
        ("monitor", "a"),
        ("monitor", "a.b"),
        ("monitor", "a-b"),
        ("monitor", "a_b"),
        ("monitor", ""),
        ("mon-itor", "x"),
        ("mon", "itor-x"),
        ("monitor", "x" * 300),
        ("monitor", "x" * 299 + "y"),
        ("monitor", "ü$ [[host]]"),
    ],
)
def test_uids_fit_and_differ(name: str, host: str) -> None:
    found = uid(Dashboard(name, name, host, specs.BASE, ()))
    assert VARIABLE.search(found) is None
    assert len(found) <= 40
    assert found.replace("-", "").replace("_", "").isalnum()
    others = [("monitor", "A.b"), ("monitor", "node"), ("inventory", host)]
    assert found not in {
        uid(Dashboard(*[one, one], other, specs.BASE, ())) for one, other in others
    }


def test_uids_differ_from_one_another() -> None:
    hosts = ["a", "A", "a.b", "a-b", "a_b", "", "x" * 300, "x" * 299 + "y"]
    names = ["monitor", "mon-itor", "inventory"]
    all_ = [(name, host) for name in names for host in hosts]
    found = {uid(Dashboard(n, n, h, specs.BASE, ())).lower() for n, h in all_}
    assert len(found) == len(all_)


# ---- the grid -----------------------------------------------------------------------


def test_panels_fill_rows_from_the_left() -> None:
    drawn = [panel(series("cpu0"), width=w, height=h) for w, h in
             ((12, 8), (12, 4), (16, 3), (12, 8))]  # fmt: skip
    row, *found = render(dashboard(*drawn))["panels"]
    assert row["gridPos"] == {"x": 0, "y": 0, "w": 24, "h": 1}
    at = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in found]
    assert at == [(0, 1), (12, 1), (0, 9), (0, 12)]


def test_rows_are_collapsed_from_forty_panels_on() -> None:
    many = tuple(panel(series("cpu0")) for _ in range(15))
    spec = dashboard(*many)
    spec = replace(spec, sections=tuple(Section(f"{n}", many) for n in range(4)))
    document = render(spec)
    rows = [one for one in document["panels"] if one["type"] == "row"]
    assert [row["collapsed"] for row in rows] == [False, False, True, True]
    assert [len(row["panels"]) for row in rows] == [0, 0, 15, 15]
    assert len({one["id"] for one in panels(document)}) == 60
    assert rows[3]["gridPos"]["y"] == rows[2]["gridPos"]["y"] + 1
    assert rows[2]["panels"][0]["gridPos"]["y"] == rows[2]["gridPos"]["y"] + 1


# ---- series -------------------------------------------------------------------------


def test_series_is_named_and_linked_by_the_twin() -> None:
    drawn = first(render(dashboard(panel(series("cpu0"), series("cpu1")))))
    found = properties(drawn, "cpu1")
    assert found["displayName"] == "thread cpu1"
    assert [one["url"] for one in found["links"]] == [
        f"{specs.BASE}/twin/n1/thread/0",
        f"{specs.BASE}/twin/n1/telemetry/kernel.percpu.cpu.user/cpu1",
    ]
    assert drawn["targets"][0]["legendFormat"] == "{{instname}}"


def test_metric_without_instances_is_labelled_by_name() -> None:
    members = (
        series(None, metric="mem.util.free", label="free"),
        series(None, metric="mem.util.used", label="used", target=1),
    )
    drawn = first(render(dashboard(panel(*members))))
    assert [t["legendFormat"] for t in drawn["targets"]] == [
        "mem.util.free",
        "mem.util.used",
    ]
    assert properties(drawn, "mem.util.used")["displayName"] == "used"
    assert [t["refId"] for t in drawn["targets"]] == ["A", "B"]


def test_same_instance_of_two_metrics_has_two_names() -> None:
    members = (
        series("sda", metric="disk.dev.read", label="sda"),
        series("sda", metric="disk.dev.write", label="sda", target=1),
    )
    drawn = first(render(dashboard(panel(*members))))
    read = properties(drawn, "disk.dev.read sda")
    write = properties(drawn, "disk.dev.write sda")
    assert read["displayName"] == "sda disk.dev.read"
    assert write["displayName"] == "sda disk.dev.write"
    assert read["color"] != write["color"]


def test_metric_in_two_expressions_has_distinct_legends() -> None:
    members = (series("cpu0"), series("cpu1", target=1))
    drawn = first(render(dashboard(panel(*members))))
    legends = [t["legendFormat"] for t in drawn["targets"]]
    assert legends == [
        "A kernel.percpu.cpu.user {{instname}}",
        "B kernel.percpu.cpu.user {{instname}}",
    ]
    assert properties(drawn, "B kernel.percpu.cpu.user cpu1")


def test_lines_of_a_group_share_a_colour() -> None:
    members = [series(f"cpu{n}", group=f"L1 {n % 5}") for n in range(10)]
    drawn = first(render(dashboard(panel(*members))))
    colors = [properties(drawn, f"cpu{n}")["color"]["fixedColor"] for n in range(10)]
    assert colors[:5] == colors[5:]
    assert len(set(colors)) == 5
    assert drawn["options"]["legend"]["showLegend"]


def test_series_in_store_order_need_no_sorting() -> None:
    members = [series(name) for name in ("cpu0", "cpu1", "cpu10", "cpu2")]
    drawn = first(render(dashboard(panel(*members))))
    assert drawn["targets"][0]["expr"] == (
        'rate(kernel_percpu_cpu_user{hostname="n1"})'
    )


def test_too_long_ordering_is_omitted() -> None:
    members = [series(f"cpu{n}" + "x" * 100) for n in reversed(range(200))]
    drawn = first(render(dashboard(panel(*members))))
    assert drawn["targets"][0]["expr"].startswith("rate(")


def test_panel_has_range_unit_and_reasons() -> None:
    given = {"minimum": 0.0, "maximum": 1.0, "why": ("no x: y", "no z")}
    drawn = first(render(dashboard(panel(series("cpu0"), **given))))
    defaults = drawn["fieldConfig"]["defaults"]
    assert (defaults["min"], defaults["max"]) == (0.0, 1.0)
    assert defaults["unit"] == "percentunit"
    assert defaults["noValue"] == "no x: y; no z"
    assert drawn["description"].splitlines()[2:4] == ["- no x: y", "- no z"]
    assert drawn["interval"] == "1s"


def test_heatmap_keeps_one_scale_and_shows_idle_threads() -> None:
    one = panel(series("cpu0"), picture="heatmap", minimum=0.0, maximum=1.0)
    options = first(render(dashboard(one)))["options"]
    assert (options["color"]["min"], options["color"]["max"]) == (0.0, 1.0)
    assert options["calculate"] is False
    assert options["filterValues"]["le"] < 0
    assert options["yAxis"]["reverse"] is True


@pytest.mark.parametrize(("picture", "kind"), [("stat", "stat"), ("bars", "bargauge")])
def test_single_value_is_the_last_one(picture: Any, kind: str) -> None:
    drawn = first(render(dashboard(panel(series("cpu0"), picture=picture))))
    assert drawn["type"] == kind
    assert drawn["options"]["reduceOptions"]["calcs"] == ["lastNotNull"]
    assert len(drawn["fieldConfig"]["defaults"]["thresholds"]["steps"]) == 1


def test_stack_is_stacked() -> None:
    drawn = first(render(dashboard(panel(series("cpu0"), stack=True))))
    custom = drawn["fieldConfig"]["defaults"]["custom"]
    assert custom["stacking"] == {"mode": "normal", "group": "A"}


# ---- text panels --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"why": ("no metric x",)}, "no metric x"),
        ({"problem": "the query failed"}, "the query failed"),
        ({}, "the twin knows no series of this"),
    ],
)
def test_panel_without_series_says_why(given: dict[str, Any], line: str) -> None:
    drawn = first(render(dashboard(panel(**given))))
    assert drawn["type"] == "text"
    assert drawn["options"] == {"mode": "markdown", "content": f"- {line}"}


def test_problem_replaces_the_panel() -> None:
    drawn = first(render(dashboard(table_panel(problem="the query failed"))))
    assert drawn["options"]["content"] == "- the query failed"


# ---- tables -------------------------------------------------------------------------


def test_table_has_numbers_units_links_and_an_order() -> None:
    drawn = first(render(dashboard(table_panel())))
    convert, organize = drawn["transformations"]
    assert convert["options"]["conversions"] == [
        {"targetField": "size", "destinationType": "number"}
    ]
    assert organize["options"]["indexByName"] == {"host": 0, "size": 1, "disk": 2}
    assert properties(drawn, "size") == {"unit": "bytes"}
    opened = properties(drawn, "disk")["links"]
    assert [one["url"] for one in opened] == ["${__value.raw}"]
    assert len(drawn["fieldConfig"]["overrides"]) == 2


def test_table_of_one_host_keeps_its_query() -> None:
    drawn = first(render(dashboard(table_panel())))
    text = drawn["targets"][0]["queryText"]
    assert "VALUES (?host) { (UNDEF) }" in text
    assert "?host ; st:diskSize" in text
    assert "#+" not in text


def test_table_of_all_hosts_has_a_drop_down() -> None:
    document = render(dashboard(table_panel(), host="", name="inventory"))
    text = first(document)["targets"][0]["queryText"]
    assert "VALUES (?host) { (${host:doublequote}) }" in text
    host = document["templating"]["list"][1]
    assert (host["name"], host["allValue"], host["includeAll"]) == (
        "host",
        "UNDEF",
        True,
    )
    assert host["current"]["value"] == "$__all"
    assert document["refresh"] == "5m"


# ---- the component ------------------------------------------------------------------


def test_component_variable_is_a_regular_expression_of_instances() -> None:
    parts = (specs.component("socket 0, left", "cpu0", "cpu1"),)
    one = panel(series("cpu0"), series("cpu1"), narrows=True)
    document = render(dashboard(one, components=parts))
    variable = document["templating"]["list"][1]
    assert variable["query"] == "All : .*, socket 0\\, left : cpu0|cpu1"
    assert variable["current"]["value"] == ".*"
    # With either, Grafana escapes characters of regular expressions.
    assert not variable["includeAll"]
    assert not variable["multi"]
    assert 'instname=~"$component"' in first(document)["targets"][0]["expr"]


def test_component_variable_needs_a_panel_that_narrows() -> None:
    parts = (specs.component("socket 0", "cpu0"),)
    document = render(dashboard(panel(series("cpu0")), components=parts))
    assert [one["name"] for one in document["templating"]["list"]] == ["metrics"]
