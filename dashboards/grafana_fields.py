"""Names, colours and links of a panel's series in Grafana."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashboards import grafana_targets
from dashboards.grafana_targets import NamedSeries
from dashboards.grafana_text import is_address, link, plain
from dashboards.spec import Panel, Section
from ontology.iris import Iris

#: The palette of Okabe and Ito, distinguishable by colour-blind people.
PALETTE = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7"),
    *("#56B4E9", "#D55E00", "#F0E442", "#999999"),
)


@dataclass(frozen=True)
class PanelContext:
    """The context of a panel: the base of all IRIs, its host (or none), its section."""

    base: str
    host: str
    section: Section


def field_config(
    panel: Panel, place: PanelContext, given: dict[str, Any]
) -> dict[str, Any]:
    defaults: dict[str, Any] = {**given.get("defaults", {})}
    if panel.unit:
        defaults["unit"] = panel.unit.grafana
    if panel.minimum is not None:
        defaults["min"] = panel.minimum
    if panel.maximum is not None:
        defaults["max"] = panel.maximum
    why = panel.why or (f"no sample of {place.host} in this time range",)
    defaults["noValue"] = plain("; ".join(why))
    defaults |= _colors(panel)
    named = grafana_targets.names(panel)
    colors = _series_colors(panel)
    overrides = [
        _override(one, label, color, place)
        for one, label, color in zip(named, _labels(named), colors, strict=True)
    ]
    return {"defaults": defaults, "overrides": overrides}


def _colors(panel: Panel) -> dict[str, Any]:
    if panel.picture in ("stat", "bars"):
        # Grafana's default thresholds paint values above 80 red.
        step = {"value": None, "color": PALETTE[0]}
        return {
            "color": {"mode": "fixed", "fixedColor": PALETTE[0]},
            "thresholds": {"mode": "absolute", "steps": [step]},
        }
    return {"color": {"mode": "palette-classic"}}


def _series_colors(panel: Panel) -> list[str]:
    """One colour per line; with more lines than colours, one per group."""
    if panel.picture != "timeseries":
        return [""] * len(panel.series)
    few = len(panel.series) <= len(PALETTE)
    keys = [
        f"{at}" if few or not one.group else one.group
        for at, one in enumerate(panel.series)
    ]
    places = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    return [PALETTE[places[key] % len(PALETTE)] for key in keys]


def _labels(named: Sequence[NamedSeries]) -> list[str]:
    """The name of each series: its label in the twin, extended if it is not unique."""
    labels = [one.series.label for one in named]
    twice = Counter(labels)
    longer = [
        f"{one.series.label} {one.series.metric}" if twice[one.series.label] > 1
        else one.series.label
        for one in named
    ]  # fmt: skip
    still = Counter(longer)
    return [
        f"{label} {one.series.instname or ''}".strip() if still[label] > 1 else label
        for label, one in zip(longer, named, strict=True)
    ]


def _override(
    one: NamedSeries, label: str, color: str, place: PanelContext
) -> dict[str, Any]:
    series = one.series
    telemetry = Iris(place.base).telemetry(place.host, series.metric, series.instname)
    links = [
        {"title": title, "url": link(url), "targetBlank": True}
        for title, url in (
            ("The component", series.component),
            ("The series", str(telemetry)),
        )
        if is_address(url)
    ]
    properties: list[dict[str, Any]] = [
        {"id": "displayName", "value": plain(label)},
        {"id": "links", "value": links},
    ]
    if color:
        fixed = {"mode": "fixed", "fixedColor": color}
        properties.append({"id": "color", "value": fixed})
    return {
        "matcher": {"id": "byName", "options": one.field},
        "properties": properties,
    }
