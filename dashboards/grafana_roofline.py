"""A roofline as Grafana's XY chart: both tables are queried from the graph.

The chart draws a series for each frame, so each line and each kind of points becomes a
frame. The transformation to frames drops their refId: lines and points differ by the
names of their columns. Both axes are logarithmic.
"""

from typing import Any

from grafana_foundation_sdk.models.common import (
    LegendDisplayMode,
    LegendPlacement,
    ScaleDistribution,
    SortOrder,
    TooltipDisplayMode,
)
from grafana_foundation_sdk.models.xychart import XYShowMode

from dashboards import grafana_sparql, grafana_text
from dashboards.grafana_sdk import common, document, xychart
from dashboards.roofline import KIND, LIMIT, RATE, X
from dashboards.spec import Panel

_LINES, _POINTS = "A", "B"
_POINT_PIXELS = 7


def roofline_panel(panel: Panel) -> dict[str, Any]:
    """The chart of a panel with lines."""
    built: dict[str, Any] = document(_chart().build())
    tables = {_LINES: panel.table, _POINTS: panel.points}
    found = {name: table for name, table in tables.items() if table}
    built["targets"] = [
        document(grafana_sparql.SparqlQuery(grafana_text.sparql(table.query), name))
        for name, table in found.items()
    ]
    built["options"]["series"] = [{"x": {"matcher": _by_name(X)}}]
    built["fieldConfig"]["defaults"] |= _defaults(panel)
    built["fieldConfig"]["overrides"] = _overrides()[: 1 + len(found)]
    # Grafana appends what a step does not match: lines come first, and below points.
    splits = {_POINTS: KIND, _LINES: "name"}
    built["transformations"] = [
        grafana_sparql.to_numbers([X, LIMIT, RATE][: 1 + len(found)]),
        *(_frames(name, column) for name, column in splits.items() if name in found),
    ]
    return built


def _chart() -> xychart.Panel:
    legend = common.VizLegendOptions().show_legend(True)
    legend.display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.RIGHT)
    tooltip = common.VizTooltipOptions().mode(TooltipDisplayMode.SINGLE)
    scale = common.ScaleDistributionConfig().type(ScaleDistribution.LOG).log(10)
    size = xychart.XychartFieldConfigPointSize().fixed(_POINT_PIXELS)
    made = xychart.Panel().datasource(grafana_sparql.DATASOURCE).legend(legend)
    made.tooltip(tooltip.sort(SortOrder.NONE)).scale_distribution(scale)
    return made.show(XYShowMode.POINTS).point_size(size).line_width(2)


def _defaults(panel: Panel) -> dict[str, Any]:
    """Limits of lines and rates of points share a unit, so they share an axis."""
    columns = panel.table.columns if panel.table else ()
    units = {one.name: one.unit.grafana for one in columns if one.unit}
    why = panel.why or ("the graph holds no roofs of this host",)
    return {
        "unit": units[LIMIT],
        "color": {"mode": "palette-classic"},
        "noValue": grafana_text.plain("; ".join(why)),
    }


def _overrides() -> list[dict[str, Any]]:
    axis = {"id": "custom.axisLabel", "value": "operations per byte"}
    run = {"title": "The run", "url": "${__data.fields.run}", "targetBlank": True}
    return [
        _override(X, {"id": "unit", "value": "none"}, axis),
        _override(LIMIT, {"id": "custom.show", "value": "lines"}),
        _override(RATE, {"id": "links", "value": [run]}),
    ]


def _override(column: str, *properties: dict[str, Any]) -> dict[str, Any]:
    return {"matcher": _by_name(column), "properties": list(properties)}


def _by_name(column: str) -> dict[str, str]:
    return {"id": "byName", "options": column}


def _frames(name: str, column: str) -> dict[str, Any]:
    """The transformation of one query's rows to a frame for each value of a column."""
    naming = {"asLabels": False}
    return {
        "id": "partitionByValues",
        "filter": {"id": "byRefId", "options": name},
        "options": {"fields": [column], "keepFields": False, "naming": naming},
    }
