"""Generated dashboards against the JSON Schema of Grafana's own types."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dashboards.grafana import render
from tests.dashboards import specs
from tests.dashboards.conftest import Made
from tests.dashboards.grafana_schema import violations
from tests.dashboards.specs import (
    dashboard,
    panel,
    roofline_panel,
    series,
    table_panel,
)

PICTURES = ("timeseries", "heatmap", "stat", "bars")


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """One panel of every kind: a row, five pictures, a table and a text."""
    drawn = [panel(series("cpu0"), picture=one, narrows=True) for one in PICTURES]
    parts = (specs.component("core 0", "cpu0"),)
    others = (table_panel(), panel(), roofline_panel())
    return render(dashboard(*drawn, *others, components=parts))


def test_every_generated_dashboard_is_valid(made: list[Made]) -> None:
    assert {one.document["uid"]: violations(one.document) for one in made} == {
        one.document["uid"]: [] for one in made
    }


def test_one_panel_of_every_kind_is_valid(example: dict[str, Any]) -> None:
    kinds = [one["type"] for one in example["panels"]]
    assert kinds == [
        *("row", "timeseries", "heatmap", "stat", "bargauge", "table", "text"),
        "xychart",
    ]
    assert violations(example) == []


def test_dashboard_of_all_hosts_is_valid() -> None:
    assert violations(render(dashboard(table_panel(), host=""))) == []


Planting = Callable[[dict[str, Any]], object]
PLANTED: dict[str, tuple[Planting, str]] = {
    "the dashboard's refresh is a number": (
        lambda d: d.update(refresh=5),
        "refresh: 5 is not of type 'string'",
    ),
    "the dashboard has an unknown property": (
        lambda d: d.update(rows=[]),
        "'rows' was unexpected",
    ),
    "the dashboard has no version of the schema": (
        lambda d: d.pop("schemaVersion"),
        "'schemaVersion' is a required property",
    ),
    "a variable is hidden by a word": (
        lambda d: d["templating"]["list"][0].update(hide="label"),
        "templating/list/0/hide",
    ),
    "a variable is of an unknown kind": (
        lambda d: d["templating"]["list"][0].update(type="list"),
        "templating/list/0/type",
    ),
    "a link is placed in a menu of another name": (
        lambda d: d["links"][0].update(placement="menu"),
        "links/0/placement",
    ),
    "a panel is of an unknown kind": (
        lambda d: d["panels"][1].update(type="graph"),
        "panels/1/type: unknown kind of panel 'graph'",
    ),
    "a panel has no width": (
        lambda d: d["panels"][1]["gridPos"].pop("w"),
        "panels/1/gridPos: 'w' is a required property",
    ),
    "a width is text": (
        lambda d: d["panels"][1]["gridPos"].update(w="12"),
        "panels/1/gridPos/w: '12' is not of type 'number'",
    ),
    "an option belongs to another kind of panel": (
        lambda d: d["panels"][1]["options"].update(calculate=False),
        "panels/1/options: Additional properties are not allowed ('calculate'",
    ),
    "a line is as wide as a word": (
        lambda d: d["panels"][1]["fieldConfig"]["defaults"]["custom"].update(
            lineWidth="wide"
        ),
        "panels/1/fieldConfig/defaults/custom/lineWidth: 'wide'",
    ),
    "a field has an unknown property": (
        lambda d: d["panels"][1]["fieldConfig"]["defaults"].update(units="s"),
        "'units' was unexpected",
    ),
    "a color mode that Grafana lacks": (
        lambda d: d["panels"][1]["fieldConfig"]["defaults"].update(
            color={"mode": "rainbow"}
        ),
        "panels/1/fieldConfig/defaults/color",
    ),
    "an override sets what nobody knows": (
        lambda d: d["panels"][1]["fieldConfig"]["overrides"][0]["properties"].append(
            {"id": "custom.glow", "value": True}
        ),
        "panels/1/fieldConfig/overrides/0/properties/3",
    ),
    "a link of a series has no address": (
        lambda d: d["panels"][1]["fieldConfig"]["overrides"][0]["properties"][1][
            "value"
        ][0].pop("url"),
        "panels/1/fieldConfig/overrides/0/properties/1",
    ),
    "a query of a picture is SPARQL": (
        lambda d: d["panels"][1]["targets"][0].update(queryText="SELECT"),
        "panels/1/targets/0: Additional properties",
    ),
    "a heatmap has no colours": (
        lambda d: d["panels"][2]["options"].pop("color"),
        "panels/2/options: 'color' is a required property",
    ),
    "a heatmap's scale is text": (
        lambda d: d["panels"][2]["options"]["color"].update(max="1"),
        "panels/2/options/color/max: '1' is not of type 'number'",
    ),
    "a single value is reduced by a word": (
        lambda d: d["panels"][3]["options"]["reduceOptions"].update(calcs="last"),
        "panels/3/options/reduceOptions/calcs",
    ),
    "bars stand as nobody draws them": (
        lambda d: d["panels"][4]["options"].update(displayMode="round"),
        "panels/4/options/displayMode",
    ),
    "a table asks in MetricsQL": (
        lambda d: d["panels"][5].update(targets=d["panels"][1]["targets"]),
        "panels/5/targets/0",
    ),
    "a table has the footer of an older version": (
        lambda d: d["panels"][5]["options"].update(footer={"show": False}),
        "panels/5/options: Additional properties are not allowed ('footer'",
    ),
    "a column is made a thing that is no type": (
        lambda d: d["panels"][5]["transformations"][0]["options"]["conversions"][
            0
        ].update(destinationType="integer"),
        "panels/5/transformations/0",
    ),
    "a transformation that Grafana lacks": (
        lambda d: d["panels"][5]["transformations"][1].update(id="sortColumns"),
        "panels/5/transformations/1",
    ),
    "a line of a roofline is drawn as nobody draws it": (
        lambda d: d["panels"][7]["fieldConfig"]["overrides"][1]["properties"][0].update(
            value="areas"
        ),
        "panels/7/fieldConfig/overrides/1",
    ),
    "a roofline is mapped by hand": (
        lambda d: d["panels"][7]["options"].update(mapping="hand"),
        "panels/7/options/mapping",
    ),
    "a roofline is split without its columns": (
        lambda d: d["panels"][7]["transformations"][1]["options"].pop("fields"),
        "panels/7/transformations/1",
    ),
    "a text is written in another language": (
        lambda d: d["panels"][6]["options"].update(mode="asciidoc"),
        "panels/6/options/mode",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_reported(name: str, example: dict[str, Any]) -> None:
    plant, line = PLANTED[name]
    document = copy.deepcopy(example)
    plant(document)
    found = violations(document)
    assert any(line in one for one in found), found


def test_panel_in_a_closed_row_is_checked(example: dict[str, Any]) -> None:
    document = copy.deepcopy(example)
    row, first, *others = document["panels"]
    first["options"]["unknown"] = 1
    document["panels"] = [{**row, "collapsed": True, "panels": [first]}, *others]
    assert violations(document) == [
        "panels/0/panels/0/options: Additional properties are not allowed "
        "('unknown' was unexpected)"
    ]
