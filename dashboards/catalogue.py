"""The dashboards there are: one for each name that a saved query's panel states."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dashboards.errors import UnknownDashboardError
from dashboards.header import PanelHeader, read_panels
from queries.catalogue import load_catalogue

# Every other dashboard is titled by its name.
_TITLES = {"inventory": "Inventory and drift"}


@dataclass(frozen=True)
class Definition:
    """What a dashboard is made of, of whatever host; panels stand by position."""

    name: str
    title: str
    panels: tuple[PanelHeader, ...]

    @property
    def about_one_host(self) -> bool:
        """Whether it needs a host: series are drawn of one at a time."""
        return any(panel.draws_series for panel in self.panels)


def load_dashboards(folder: Path | None = None) -> dict[str, Definition]:
    """All dashboards of a folder of saved queries (default: ours, cached), by name.

    A wrong header costs its own panel, which says so on the dashboard that it names, or
    on all of them where it names none. Raises CatalogueError for a query.
    """
    return _default_dashboards() if folder is None else _load(folder)


def definition(name: str, folder: Path | None = None) -> Definition:
    """One dashboard by name; raises UnknownDashboardError, which lists the known."""
    dashboards = load_dashboards(folder)
    if name not in dashboards:
        known = ", ".join(dashboards) or "none"
        raise UnknownDashboardError(f"no dashboard {name[:80]!r}; there are: {known}")
    return dashboards[name]


@cache
def _default_dashboards() -> dict[str, Definition]:
    return _load(None)


def _load(folder: Path | None) -> dict[str, Definition]:
    panels = [
        panel
        for saved in load_catalogue(folder).values()
        for panel in read_panels(saved)
    ]
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
