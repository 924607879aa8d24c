"""The points of one panel as the pages get them: times, values, or why none."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from api.bounds import BoundedMark, bounded, bounded_marks, bounded_sums
from api.dashboards.ranges import Column, PanelReader
from api.dashboards.settled import lead, settled
from api.dashboards.specs import CachedDashboard
from api.dashboards.steps import TimeGrid
from dashboards.expressions import computed_period
from dashboards.spec import Component, Panel


@dataclass(frozen=True)
class PanelRequest:
    """A panel of a dashboard, optionally narrowed to a component."""

    spec: CachedDashboard
    panel: Panel
    component: Component | None = None

    @property
    def period(self) -> float:
        """The seconds between two samples of its slowest metric; 1 if unknown."""
        periods = self.spec.periods
        metrics = {series.metric for series in self.panel.series}
        found = [periods[m] for m in metrics if m in periods]
        computed = (computed_period(one.expression) for one in self.panel.targets)
        found += [period for period in computed if period]
        return max(found, default=1.0)


@dataclass(frozen=True)
class PanelPoints:
    """Values of a panel's series on a grid; ``why`` says why there are none at all."""

    panel: Panel
    grid: TimeGrid
    columns: list[Column]
    why: Sequence[str] = ()

    @property
    def empty(self) -> bool:
        """Whether no series has a point."""
        return all(value is None for column in self.columns for value in column)

    def until(self, time: float) -> "PanelPoints":
        """Return the points up to a time."""
        grid = self.grid.until(time)
        columns = [column[: grid.count] for column in self.columns]
        return PanelPoints(self.panel, grid, columns, self.why)

    def since(self, grid: TimeGrid) -> "PanelPoints":
        """Return the points from the start of another grid with the same step."""
        skipped = self.grid.index(grid.first)
        left = TimeGrid(grid.first, grid.step, max(0, self.grid.count - skipped))
        return PanelPoints(
            self.panel, left, [c[skipped:] for c in self.columns], self.why
        )

    def body(self) -> bytes:
        """Return the points as JSON, with the numbers as the store wrote them."""
        shown, where = within(self.panel, self.columns)
        return orjson.dumps(
            {
                "panel": self.panel.id,
                "start": self.grid.first,
                "end": self.grid.last,
                "step": self.grid.step,
                "times": self.grid.times,
                "values": orjson.Fragment(f"[{','.join(map(row, shown))}]"),
                "bounded": where,
                "why": list(self.why),
            }
        )


def row(column: Sequence[str | None]) -> str:
    """Return values as a JSON array."""
    if None not in column:
        return f"[{','.join(column)}]"  # type: ignore[arg-type]
    return f"[{','.join([value or 'null' for value in column])}]"


def within(
    panel: Panel, columns: Sequence[Column]
) -> tuple[Sequence[Column], list[BoundedMark]]:
    """Limit the columns to the panel's range; also return where this changed values."""
    greatest = panel.greatest if panel.maximum is None else panel.maximum
    if greatest is None:
        return columns, []
    numbers = [[None if v is None else float(v) for v in each] for each in columns]
    if panel.stack and panel.maximum is not None:
        shown = bounded_sums(numbers, panel.maximum)
    else:
        shown = bounded(numbers, greatest, panel.minimum)
    where = bounded_marks(numbers, shown)
    if not where:
        return columns, []
    return [[None if v is None else repr(v) for v in each] for each in shown], where


async def final_points(
    reader: PanelReader, panel_request: PanelRequest, grid: TimeGrid, now: float
) -> PanelPoints:
    """Read the points of a panel on a grid, without those that may still change."""
    wider = lead(grid.until(now), now)
    columns = await reader.columns(panel_request.panel, wider, panel_request.component)
    count, _ = settled(columns, wider, now, panel_request.period)
    found = PanelPoints(panel_request.panel, wider, columns)
    return found.until(wider.first + (count - 0.5) * wider.step).since(grid)
