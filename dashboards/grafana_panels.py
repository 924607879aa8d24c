"""Convert panels of the neutral spec to Grafana's: one function per picture."""

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

from grafana_foundation_sdk.models.common import (
    BarGaugeDisplayMode,
    BarGaugeValueMode,
    BigValueTextMode,
    GraphDrawStyle,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TableAutoCellOptions,
    TooltipDisplayMode,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode, HeatmapColorScale
from grafana_foundation_sdk.models.text import TextMode

from dashboards import grafana_sparql, grafana_targets
from dashboards.grafana_fields import PALETTE, PanelContext, field_config
from dashboards.grafana_roofline import roofline_panel
from dashboards.grafana_sdk import (
    DataTransformerConfig,
    DynamicConfigValue,
    MatcherConfig,
    bargauge,
    common,
    dashboard,
    document,
    heatmap,
    stat,
    table,
    text,
    timeseries,
)
from dashboards.grafana_text import is_address, link, markdown, plain
from dashboards.spec import Panel

_Builder = TypeVar(
    "_Builder", timeseries.Panel, heatmap.Panel, stat.Panel, bargauge.Panel
)

# With more lines than this, the legend would fill the panel, so there is none.
_LEGEND_FITS = 16
# By default the plugin hides values up to 1e-9.
_NOTHING_IS_BELOW = -1e18


def grafana_panel(panel: Panel, place: PanelContext) -> dict[str, Any]:
    """One panel without its id and its position on the grid."""
    built: dict[str, Any]
    if panel.problem or not (panel.series or panel.table):
        built = document(_text(panel).build())
    elif panel.picture == "roofline":
        built = roofline_panel(panel)
    elif panel.table:
        built = document(_table(panel, place).build())
        # The builder adds a footer of older versions; the current schema has it by
        # column.
        del built["options"]["footer"]
    else:
        built = document(_PICTURES[panel.picture](panel).build())
        given = built.get("fieldConfig", {})
        built["fieldConfig"] = field_config(panel, place, given)
    built |= {
        "title": plain(panel.title),
        "description": _description(panel),
        "links": [document(one.build()) for one in _links(panel, place)],
    }
    return without_placement(built)


def without_placement(item: dict[str, Any]) -> dict[str, Any]:
    """Remove the placement of links: with it, Grafana hides them in a menu."""
    for one in item["links"]:
        one.pop("placement", None)
    return item


def _description(panel: Panel) -> str:
    """What the picture shows, what is missing, and its query."""
    missing = [f"- {markdown(line)}" for line in panel.why]
    parts = [markdown(panel.description), "\n".join(missing)]
    parts.append(f"Saved query: {markdown(panel.query)}")
    return "\n\n".join(part for part in parts if part)


def _links(panel: Panel, place: PanelContext) -> list[dashboard.DashboardLink]:
    host = f"?host={quote(place.host, safe='')}" if place.host else ""
    query = f"{place.base}/queries/{panel.query}{host}"
    found = [_link("The saved query", query)]
    if is_address(place.section.component):
        found.insert(0, _link(place.section.title, place.section.component))
    return found


def _link(title: str, url: str) -> dashboard.DashboardLink:
    made = dashboard.DashboardLink(plain(title)).url(link(url))
    return made.target_blank(True).icon("external link")


# ---- why there is no picture ------------------------------------------------------


def _text(panel: Panel) -> text.Panel:
    lines = [panel.problem] if panel.problem else [*panel.why]
    lines = lines or ["the twin knows no series of this"]
    content = "\n".join(f"- {markdown(line)}" for line in lines)
    return text.Panel().mode(TextMode.MARKDOWN).content(content)


# ---- series -------------------------------------------------------------------------


def _timeseries(panel: Panel) -> timeseries.Panel:
    few = len(panel.series) <= _LEGEND_FITS
    legend = common.VizLegendOptions().show_legend(few)
    legend.display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
    tooltip = common.VizTooltipOptions().sort(SortOrder.DESCENDING)
    tooltip.mode(TooltipDisplayMode.MULTI if few else TooltipDisplayMode.SINGLE)
    made = _queried(timeseries.Panel(), panel).legend(legend).tooltip(tooltip)
    made.draw_style(GraphDrawStyle.LINE).line_width(1).show_points(VisibilityMode.NEVER)
    made.span_nulls(False).fill_opacity(25 if panel.stack else 0)
    if panel.stack:
        made.stacking(common.StackingConfig().group("A").mode(StackingMode.NORMAL))
    return made


def _heatmap(panel: Panel) -> heatmap.Panel:
    """One row per series, in the order of the spec; a missing value has no cell.

    A status history rejects 128 threads with "too many points". The heat map draws them
    all, thins out the labels, and keeps one scale for the metric.
    """
    color = heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME)
    color.scheme("Cividis").scale(HeatmapColorScale.LINEAR).steps(128)
    color.fill(PALETTE[0]).exponent(1)
    if panel.minimum is not None:
        color.min(panel.minimum)
    if panel.maximum is not None:
        color.max(panel.maximum)
    cells = heatmap.CellValues()
    if panel.unit:
        cells.unit(panel.unit.grafana)
    made = _queried(heatmap.Panel(), panel).calculate(False).color(color)
    made.cell_values(cells).cell_gap(0).show_value(VisibilityMode.NEVER).show_legend()
    made.filter_values(heatmap.FilterValueRange().le(_NOTHING_IS_BELOW))
    return made.y_axis(heatmap.YAxisConfig().reverse(True))


def _stat(panel: Panel) -> stat.Panel:
    one = len(panel.series) == 1
    mode = BigValueTextMode.VALUE if one else BigValueTextMode.VALUE_AND_NAME
    return _queried(stat.Panel(), panel).text_mode(mode).reduce_options(_last())


def _bars(panel: Panel) -> bargauge.Panel:
    made = _queried(bargauge.Panel(), panel).reduce_options(_last())
    made.orientation(VizOrientation.HORIZONTAL).display_mode(BarGaugeDisplayMode.BASIC)
    return made.value_mode(BarGaugeValueMode.TEXT)


def _last() -> common.ReduceDataOptions:
    return common.ReduceDataOptions().calcs(["lastNotNull"]).values(False).fields("")


def _queried(made: _Builder, panel: Panel) -> _Builder:
    """Add the queries; their step starts at the sampling period, not at 15 s."""
    made.datasource(grafana_targets.DATASOURCE).interval("1s")
    for target in grafana_targets.targets(panel):
        made.with_target(target)
    return made


_PICTURES: dict[str, Callable[[Panel], Any]] = {
    "timeseries": _timeseries,
    "heatmap": _heatmap,
    "stat": _stat,
    "bars": _bars,
}


# ---- tables -------------------------------------------------------------------------


def _table(panel: Panel, place: PanelContext) -> table.Panel:
    assert panel.table  # noqa: S101
    made = table.Panel().datasource(grafana_sparql.DATASOURCE)
    made.cell_options(TableAutoCellOptions())
    made.with_target(grafana_sparql.SparqlTarget(panel.table, not place.host))
    for step in grafana_sparql.transformations(panel.table):
        made.with_transformation(
            DataTransformerConfig(step["id"], options=step["options"])
        )
    for override in grafana_sparql.overrides(panel.table):
        properties = [
            DynamicConfigValue(one["id"], one["value"])
            for one in override["properties"]
        ]
        made.with_override(MatcherConfig(**_matcher(override)), properties)
    if panel.why and not panel.table.rows:
        made.no_value(plain("; ".join(panel.why)))
    return made


def _matcher(override: dict[str, Any]) -> dict[str, Any]:
    matcher = override["matcher"]
    return {"id_val": matcher["id"], "options": matcher["options"]}
