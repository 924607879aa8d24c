"""Our lint rules: generated dashboards break none, and each rule finds its error."""

import copy
import time
from collections.abc import Callable
from typing import Any

import pytest

from dashboards.grafana import render
from dashboards.lint import RULES, lint
from tests.dashboards import specs
from tests.dashboards.conftest import Made
from tests.dashboards.specs import (
    HOSTILE,
    dashboard,
    panel,
    roofline_panel,
    series,
    table_panel,
)


def example() -> dict[str, Any]:
    """A row, a picture of two series, a text, a table, and a roofline."""
    picture = panel(
        series("cpu0"),
        series("cpu1"),
        series("cpu0", metric="kernel.percpu.cpu.sys", target=1),
        narrows=True,
    )
    parts = (specs.component("core 0", "cpu0"),)
    others = (panel(), table_panel(), roofline_panel())
    return render(dashboard(picture, *others, components=parts))


def test_no_generated_dashboard_breaks_a_rule(made: list[Made]) -> None:
    for one in made:
        components = {
            series.component
            for section in one.spec.sections
            for panel in section.panels
            for series in panel.series
        }
        assert lint(one.document, components) == []


def test_hand_written_dashboard_breaks_no_rule() -> None:
    assert lint(example()) == []
    assert lint(render(dashboard(table_panel(), host=""))) == []


def test_hostile_names_break_no_rule() -> None:
    parts = (specs.component(HOSTILE, "cpu0", HOSTILE),)
    one = panel(series(HOSTILE, label=HOSTILE), series("cpu0"), narrows=True,
                title=HOSTILE, description=HOSTILE, why=(HOSTILE,))  # fmt: skip
    document = render(dashboard(one, panel(why=(HOSTILE,)), components=parts))
    assert lint(document) == []


def _target(document: dict[str, Any], at: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = document["panels"][at]["targets"][0]
    return found


def _overrides(document: dict[str, Any], at: int = 1) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["panels"][at]["fieldConfig"]["overrides"]
    return found


def _links(document: dict[str, Any], at: int = 1) -> list[dict[str, Any]]:
    properties = _overrides(document, at)[0]["properties"]
    return next(one["value"] for one in properties if one["id"] == "links")


def _query(document: dict[str, Any], old: str, new: str) -> None:
    target = _target(document, 3)
    assert old in target["queryText"]
    target["queryText"] = target["queryText"].replace(old, new)


def _steps(document: dict[str, Any], at: int = 3) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["panels"][at]["transformations"]
    return found


def _in_row(document: dict[str, Any]) -> None:
    document["panels"][0]["panels"] = [document["panels"].pop()]


Planting = Callable[[dict[str, Any]], object]
PLANTED: list[tuple[str, Planting]] = [
    ("uid-form", lambda d: d.update(uid="a b")),
    ("uid-form", lambda d: d.update(uid="a" * 41)),
    ("id-unique", lambda d: d["panels"][2].update(id=d["panels"][1]["id"])),
    ("grid-bounds", lambda d: d["panels"][3]["gridPos"].update(x=13, y=99)),
    ("grid-bounds", lambda d: d["panels"][3]["gridPos"].update(h=0)),
    ("grid-overlap", lambda d: d["panels"][2]["gridPos"].update(x=11)),
    ("row-panels", _in_row),
    ("row-panels", lambda d: d["panels"][0].update(collapsed=True)),
    ("title-missing", lambda d: d.update(title="")),
    ("title-missing", lambda d: d["panels"][1].update(title="")),
    ("description-missing", lambda d: d["panels"][1].pop("description")),
    ("variable-unknown", lambda d: d["panels"][1].update(title="of $nothing")),
    ("variable-unknown", lambda d: d["panels"][1].update(title="of [[nothing]]")),
    ("variable-unknown", lambda d: _target(d).update(expr='rate(a{b="${c}"})')),
    ("variable-unknown", lambda d: d["templating"]["list"].pop()),
    ("variable-unused", lambda d: _target(d).update(expr="a")
        or d["panels"][1]["targets"][1].update(expr="b")),
    ("variable-twice", lambda d: d["templating"]["list"].append(
        d["templating"]["list"][0])),
    ("datasource-fixed", lambda d: _target(d)["datasource"].update(uid="P123")),
    ("datasource-fixed", lambda d: d["panels"][1]["datasource"].update(uid="P123")),
    ("datasource-fixed", lambda d: _target(d)["datasource"].update(type="loki")),
    ("datasource-fixed", lambda d: _target(d)["datasource"].update(uid="${graph}")),
    ("html-in-text", lambda d: d["panels"][2]["options"].update(content="<img>")),
    ("html-in-text", lambda d: d["panels"][2]["options"].update(mode="html")),
    ("html-in-text", lambda d: d["panels"][1].update(description="<script>")),
    ("link-not-http", lambda d: _links(d)[0].update(url="javascript:alert(1)")),
    ("link-not-http", lambda d: d["links"][-1].update(url="/dashboards")),
    ("link-not-http", lambda d: d["panels"][1]["links"][0].update(url="")),
    ("component-unknown", lambda d: _links(d)[0].update(url="http://a/twin/n1/x/y")),
    ("reason-missing", lambda d: d["panels"][1]["fieldConfig"]["defaults"].pop(
        "noValue")),
    ("query-missing", lambda d: d["panels"][1].update(targets=[])),
    ("ref-unique", lambda d: d["panels"][1]["targets"][1].update(refId="A")),
    ("expression-empty", lambda d: _target(d).update(expr=" ")),
    ("expression-long", lambda d: _target(d).update(expr="a" * 16385)),
    ("expression-long", lambda d: d["templating"]["list"][2].update(
        query="All : .*, all : " + "|".join(f"cpu{n}" for n in range(9000)))),
    ("legend-unique", lambda d: d["panels"][1]["targets"][1].update(
        legendFormat=_target(d)["legendFormat"])),
    ("name-unique", lambda d: _overrides(d)[1].update(
        matcher=_overrides(d)[0]["matcher"])),
    ("name-unique", lambda d: _overrides(d)[1].update(
        properties=_overrides(d)[0]["properties"])),
    ("sparql-syntax", lambda d: _query(d, "WHERE {", "WHERE {{")),
    ("sparql-syntax", lambda d: _query(d, "PREFIX st:", "PREFIX s:")),
    ("sparql-dollar", lambda d: _query(d, "?size .", "?size . FILTER ($size > 0)")),
    ("column-missing", lambda d: _query(d, "?size ?disk WHERE", "?disk WHERE")),
    ("column-missing", lambda d: _overrides(d, 3)[0]["matcher"].update(
        options="siz")),
    ("column-order", lambda d: _steps(d)[1]["options"]["indexByName"].pop("disk")),
    ("column-missing", lambda d: _steps(d, 4)[1]["options"].update(fields=["x"])),
    ("number-not-converted", lambda d: _steps(d, 4).pop(0)),
    ("number-not-converted", lambda d: _steps(d).pop(0)),
    ("number-not-converted", lambda d: _steps(d)[0]["options"]["conversions"][0]
        .update(destinationType="string")),
    ("link-on-number", lambda d: _overrides(d, 3)[0]["properties"].append(
        {"id": "links", "value": [{"title": "Open", "url": "${__value.raw}"}]})),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "plant"), PLANTED, ids=[f"{n}-{one[0]}" for n, one in enumerate(PLANTED)]
)
def test_planted_error_is_reported(rule: str, plant: Planting) -> None:
    document = copy.deepcopy(example())
    plant(document)
    found = lint(document, {f"{specs.BASE}/twin/n1/thread/0"})
    assert any(f": {rule}: " in line for line in found), found


def test_every_rule_has_a_planted_error() -> None:
    assert {rule for rule, _ in PLANTED} == RULES.keys()


def test_thousands_of_panels_are_compared_in_seconds() -> None:
    many = render(dashboard(*(panel(series("cpu0")) for _ in range(4000))))
    start = time.process_time()
    assert lint(many) == []
    assert time.process_time() - start < 60  # comparing all pairs takes hours


def test_line_names_the_panel() -> None:
    document = example()
    document["panels"][1]["targets"][0]["expr"] = ""
    assert "panel 2 'Busy threads': expression-empty: query A" in lint(document)
