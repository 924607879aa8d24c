"""Polls the newest points of one dashboard, each step once, for all its watchers."""

import asyncio
import logging
import time
from dataclasses import dataclass

import orjson

from api.dashboards.points import PanelRequest, row, within
from api.dashboards.ranges import Column, PanelReader
from api.dashboards.settled import GRACE_S, lead, settled
from api.dashboards.specs import CachedDashboard, DashboardCache
from api.dashboards.steps import TimeGrid, round_step
from api.dashboards.watcher import (
    WAITING,
    Message,
    StoreProblem,
    StreamEnd,
    Tick,
    TwinChanged,
    Watcher,
    WindowsReset,
)
from core.errors import ApiError
from core.stores.errors import EndpointError
from dashboards.spec import Component

_LOG = logging.getLogger(__name__)

_GRAPH_EVERY_S = 3.0
_AGAIN_S = 1.0
# The store hangs if the newest points alone take longer than this.
_PATIENCE_S = 10.0
_HANGS = f"did not answer in {_PATIENCE_S:g} s"
# The bridge sends the points that it held back after the store is back.
_LATER_S = 10.0
# Late points are shown by fresh windows, sent once for all of them after this time.
_LATE_S = 2.0


@dataclass(frozen=True)
class PanelUpdate:
    """The newest columns of a panel.

    The first ``count`` times are final; ``waits`` says whether the
    next one is waited for.
    """

    panel_request: PanelRequest
    grid: TimeGrid
    columns: list[Column]
    count: int
    waits: bool

    def at(self, time: int) -> Column:
        """Return the values at one time; empty if the panel has no such time."""
        index, between = divmod(time - self.grid.first, self.grid.step)
        if between or not 0 <= index < self.grid.count:
            return []
        return [column[index] for column in self.columns]

    def known(self, time: int) -> int:
        """Return the number of series with a value at a time."""
        return sum(value is not None for value in self.at(time))

    @property
    def horizon(self) -> int:
        """The last moment whose values are all final."""
        return self.grid.first + self.count * self.grid.step - 1


class Feed:
    """Polls all panels of a dashboard; ``last`` is the time of the last tick sent.

    ``panel_request`` are the panels with series, ``step`` is the step of the ticks. A
    panel with less frequent samples has a value only in every so many ticks.
    """

    def __init__(
        self,
        reader: PanelReader,
        specs: DashboardCache,
        spec: CachedDashboard,
        component: Component | None,
        step: int,
    ) -> None:
        self.spec, self.component, self.step = spec, component, step
        self.last = int((time.time() - GRACE_S) // step) * step
        self.watchers: set[Watcher] = set()
        self.problems: dict[str, str] = {}
        self.changed = False
        self.ready = asyncio.Event()
        self._reader, self._specs = reader, specs
        self._delay, self._tries = 0.3, 0
        self._later = 0.0
        self._last_sent: dict[int, dict[str, int]] = {}
        self.panel_requests = [
            PanelRequest(spec, panel, component)
            for panel in spec.panels.values()
            if panel.targets and not panel.problem
        ]
        self._steps = {
            panel_request.panel.id: self.step_of(panel_request)
            for panel_request in self.panel_requests
        }

    def step_of(self, panel_request: PanelRequest) -> int:
        """Return the seconds between a panel's points: a multiple of its step."""
        step = round_step(0, 1, max(panel_request.period, self.step))
        return -(-step // self.step) * self.step

    async def run(self) -> None:
        """Poll until cancelled; an unexpected error is logged and ends the streams."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_store())
                tasks.create_task(self._follow_graph())
        except Exception:
            _LOG.exception("a live dashboard failed")
            self.tell(StreamEnd())

    def tell(self, message: Message) -> None:
        """Send a message to all watchers."""
        for watcher in self.watchers:
            watcher.tell(message)

    async def _follow_store(self) -> None:
        while True:
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    await self._poll(time.time())
            except TimeoutError:
                self._set_problem("store", f"{self._reader.store.url} {_HANGS}")
                pause = _AGAIN_S
            except ApiError as error:
                self._set_problem("store", error.detail)
                pause = _AGAIN_S
            else:
                self._clear_problem("store")
                pause = self._pause()
            self.ready.set()
            await asyncio.sleep(pause)

    async def _follow_graph(self) -> None:
        shown = self.spec.dashboard
        while True:
            await asyncio.sleep(_GRAPH_EVERY_S)
            try:
                found = await self._specs.get(shown.name, shown.host)
                self._compare(found.dashboard != shown)
            except EndpointError as error:
                self._set_problem("graph", error.detail)
                continue
            except ApiError:
                self._compare(True)
            self._clear_problem("graph")

    def _compare(self, differs: bool) -> None:
        if differs and not self.changed:
            self.changed = True
            self.tell(TwinChanged())

    def _set_problem(self, what: str, detail: str) -> None:
        if self.problems.get(what) != detail:
            self.problems[what] = detail
            self.tell(StoreProblem(detail))

    def _clear_problem(self, what: str) -> None:
        if self.problems.pop(what, None):
            self.tell(WindowsReset(recovered=not self.problems))
            self._later = time.time() + _LATER_S
        if self._later and time.time() > self._later:
            self._later = 0.0
            self.tell(WindowsReset())

    def _record_sent(self, at: int, parts: list[PanelUpdate]) -> None:
        """Remember how many values of a tick were known when it was sent."""
        self._last_sent = {
            time: known
            for time, known in self._last_sent.items()
            if time > at - GRACE_S
        }
        self._last_sent[at] = {
            part.panel_request.panel.id: part.known(at) for part in parts
        }

    def _is_late(self, parts: list[PanelUpdate]) -> bool:
        """Whether values have arrived that were missing in a tick that was sent."""
        return any(
            part.known(at) > known.get(part.panel_request.panel.id, 0)
            for at, known in self._last_sent.items()
            for part in parts
        )

    def _pause(self) -> float:
        """Return the seconds until the next points are expected.

        It learns how late they usually are, so that most polls find new points.
        """
        left = self.last + self.step + self._delay - time.time()
        if left > self.step + self._delay:  # the clock was set back: poll soon
            return 1.0
        if left > 0:
            if self._tries == 0:
                self._delay = max(0.1, self._delay - 0.01)
            self._tries = 0
            return left
        self._tries += 1
        self._delay = min(GRACE_S + 1, self._delay + 0.1)
        return 0.25

    async def _poll(self, now: float) -> None:
        if self.last > now + self.step:  # the clock was set back
            self.last = int((now - GRACE_S) // self.step) * self.step
            self._last_sent.clear()
            self.tell(WindowsReset())
        parts = await self._parts(now)
        horizon = max(self.last, self._horizon(parts, now))
        first = not self.ready.is_set() or "store" in self.problems
        if first or (horizon - self.last) // self.step > WAITING:
            self.last = horizon
            self._last_sent.clear()
            if not first:
                self.tell(WindowsReset())
        if not self._later and self._is_late(parts):
            self._later = now + _LATE_S
        while self.last < horizon:
            self.last += self.step
            self._record_sent(self.last, parts)
            self.tell(Tick(self.last, _body(self.last, parts)))

    async def _parts(self, now: float) -> list[PanelUpdate]:
        """Read the newest columns of the panels that are due, in few queries."""
        due: dict[TimeGrid, list[PanelRequest]] = {}
        for panel_request in self.panel_requests:
            times = self._due(panel_request, now)
            if times.count:
                due.setdefault(lead(times, now), []).append(panel_request)
        parts = []
        for times, several in due.items():
            panels = [panel_request.panel for panel_request in several]
            found = await self._reader.together(panels, times, self.component)
            for panel_request, columns in zip(several, found, strict=True):
                count, waits = settled(columns, times, now, panel_request.period)
                parts.append(PanelUpdate(panel_request, times, columns, count, waits))
        return parts

    def _due(self, panel_request: PanelRequest, now: float) -> TimeGrid:
        """Return the times of a panel since the last tick; may be empty."""
        step = self._steps[panel_request.panel.id]
        first = self.last // step * step + step
        return TimeGrid(first, step, max(0, int((now - first) // step) + 1))

    def _horizon(self, parts: list[PanelUpdate], now: float) -> int:
        """Return the last step whose expected values have all arrived."""
        found = [part.horizon for part in parts if part.waits]
        late = int(now - GRACE_S) if parts else int(now)
        return min([*found, int(now)] if found else [late]) // self.step * self.step


def _body(at: int, parts: list[PanelUpdate]) -> bytes:
    panels, bounded = {}, {}
    for part in parts:
        if not (values := part.at(at)):
            continue
        id_ = part.panel_request.panel.id
        shown, where = within(part.panel_request.panel, [[value] for value in values])
        panels[id_] = orjson.Fragment(row([value for (value,) in shown]))
        if where:
            bounded[id_] = where
    return orjson.dumps({"time": at, "panels": panels, "bounded": bounded})
