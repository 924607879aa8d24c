"""The existing dashboards: one for each name in a panel header of a saved query."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dashboards.errors import UnknownDashboardError
from dashboards.header import GRID, PanelHeader, read_panel, read_panels
from ontology.iris import IdError, decode_id, encode_id
from queries.catalogue import SavedQuery, load_catalogue, saved_query

# Dashboards without a header: the saved query, and the parameters in the name.
_CHARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "metric": ("telemetry/metric-series", ("metric",)),
    "series": ("telemetry/metric-series", ("metric", "instname")),
    "plan": ("telemetry/plan-series", ("plan",)),
    "virtual": ("telemetry/virtual", ("name",)),
}
_LOOK: dict[str, Any] = {
    "dashboard": "series",
    "section": "Series",
    "picture": "timeseries",
    "empty": "no series of numbers is known",
}
# Every other dashboard's title is its name.
_TITLES = {"inventory": "Inventory and drift"}


@dataclass(frozen=True)
class Definition:
    """The definition of a dashboard for any host; panels are ordered by position.

    ``given`` are values for parameters of its saved queries.
    """

    name: str
    title: str
    panels: tuple[PanelHeader, ...]
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def about_one_host(self) -> bool:
        """Whether it needs a host: some pictures show one host."""
        return any(panel.needs_host for panel in self.panels)


def load_dashboards(
    queries: Mapping[str, SavedQuery] | None = None,
) -> Mapping[str, Definition]:
    """All dashboards of saved queries (default: the built-in ones, cached), by name.

    A wrong header affects only its own panel, which shows the problem on the dashboard
    that it names, or on all if it names none.
    """
    return _default_dashboards() if queries is None else _load(queries)


def definition(
    name: str, dashboards: Mapping[str, Definition] | None = None
) -> Definition:
    """One dashboard by name; raises UnknownDashboardError, which lists the known.

    The default is those of built-in queries. Dashboards without a header have names
    too: see ``chart_name``.
    """
    if found := _chart(name):
        return found
    dashboards = load_dashboards() if dashboards is None else dashboards
    if name not in dashboards:
        known = ", ".join(dashboards) or "none"
        raise UnknownDashboardError(f"no dashboard {name[:80]!r}; there are: {known}")
    return dashboards[name]


def chart_name(kind: str, *values: str) -> str:
    """The name of the dashboard of a metric, a series, a plan or virtual telemetry.

    ``metric`` takes the PCP name, ``series`` the PCP name and the instance, ``plan``
    the plan's name, ``virtual`` that of virtual telemetry.
    """
    return ":".join((kind, *map(encode_id, values)))


def _chart(name: str) -> Definition | None:
    """The dashboard of such a name; None for any other."""
    kind, *segments = name.split(":")
    query, params = _CHARTS.get(kind, ("", ()))
    if not segments or len(segments) != len(params):
        return None
    try:
        given = dict(zip(params, map(decode_id, segments), strict=True))
    except IdError:
        return None
    metric = given.get("metric")
    own = {"metrics": [metric]} if metric else {}
    keys = _LOOK if kind == "plan" else _LOOK | own | {"width": GRID}
    panel = read_panel(saved_query(query), keys)
    return Definition(name, " ".join(given.values()), (panel,), given)


@cache
def _default_dashboards() -> dict[str, Definition]:
    return _load(load_catalogue())


def _load(queries: Mapping[str, SavedQuery]) -> dict[str, Definition]:
    panels = [panel for saved in queries.values() for panel in read_panels(saved)]
    panels.sort(key=lambda panel: panel.position)
    names = sorted({panel.dashboard for panel in panels} - {""})
    return {
        name: Definition(
            name=name,
            title=_TITLES.get(name, name.replace("-", " ").capitalize()),
            panels=tuple(each for each in panels if each.dashboard in (name, "")),
        )
        for name in names
    }
