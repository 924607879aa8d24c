"""Expressions for Grafana: named, in the twin's order, and short enough."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from grafana_foundation_sdk.models.common import DataSourceRef

from dashboards import grafana_text
from dashboards.grafana_sdk import prometheus
from dashboards.spec import Panel, PanelSeries, Target
from ontology.selectors import escaped

DATASOURCE = DataSourceRef("prometheus", "${metrics}")

#: VictoriaMetrics refuses longer ones (-search.maxQueryLen), in bytes.
LONGEST = 16384
# Leaves room for the instance names of the selected component.
_LONGEST_ORDERED = 12000
_POSITION = "position"


@dataclass(frozen=True)
class NamedSeries:
    """A series and the name that Grafana gives it before any override."""

    series: PanelSeries
    field: str


def ref_id(index: int) -> str:
    """``A`` to ``Z``, then ``AA``: the name of a panel's n-th query."""
    before, last = divmod(index, len(ascii_uppercase))
    return (ref_id(before - 1) if before else "") + ascii_uppercase[last]


def targets(panel: Panel) -> list[prometheus.Dataquery]:
    """One query per expression of a panel."""
    members: list[list[PanelSeries]] = [[] for _ in panel.targets]
    for one in panel.series:
        members[one.target].append(one)
    prefixes = _prefixes(panel.targets)
    return [
        _target(panel, index, prefixes[index], members[index])
        for index in range(len(panel.targets))
    ]


def names(panel: Panel) -> list[NamedSeries]:
    """Grafana's name of each series, from the legends of ``targets``."""
    prefixes = _prefixes(panel.targets)
    return [NamedSeries(one, _field(prefixes[one.target], one)) for one in panel.series]


def _target(
    panel: Panel, index: int, prefix: str, members: Sequence[PanelSeries]
) -> prometheus.Dataquery:
    text = _ordered(panel.targets[index].expression, members)
    return (
        prometheus.Dataquery()
        .ref_id(ref_id(index))
        .datasource(DATASOURCE)
        .expr(grafana_text.expression(text, panel.narrows))
        .legend_format(_legend(prefix, panel.targets[index], members))
        .range()
    )


def _legend(prefix: str, target: Target, members: Sequence[PanelSeries]) -> str:
    if any(one.instname is not None for one in members):
        return f"{prefix} {{{{instname}}}}".strip()
    return prefix or target.metric


def _field(prefix: str, series: PanelSeries) -> str:
    if series.instname is None:
        return prefix or series.metric
    return f"{prefix} {series.instname}".strip()


def _prefixes(all_: Sequence[Target]) -> list[str]:
    """Prefixes that distinguish the queries of a panel, if there are several."""
    if len(all_) == 1:
        return [""]
    metrics = Counter(target.metric for target in all_)
    return [
        target.metric
        if metrics[target.metric] == 1
        else f"{ref_id(index)} {target.metric}"
        for index, target in enumerate(all_)
    ]


def _ordered(expression: str, members: Sequence[PanelSeries]) -> str:
    """The expression with its results in the twin's order.

    By default the store returns series in alphabetical order of their names. Instances
    that the twin does not know come last.
    """
    instances = [one.instname for one in members if one.instname is not None]
    if instances == sorted(instances, key=str.encode):
        return expression
    width = len(str(len(instances)))
    pairs = "".join(
        f', "{escaped(name)}", "{place:0{width}}"'
        for place, name in enumerate(instances)
    )
    copied = f'label_copy({expression}, "instname", "{_POSITION}")'
    placed = f'label_map({copied}, "{_POSITION}"{pairs})'
    ordered = f'sort_by_label({placed}, "{_POSITION}")'
    return ordered if len(ordered.encode()) <= _LONGEST_ORDERED else expression
