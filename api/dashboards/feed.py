"""Polls the newest points of one dashboard, each step once, for all its watchers."""

import asyncio
import logging
import time
from dataclasses import dataclass

import orjson

from api.dashboards.points import Asked, row, within
from api.dashboards.ranges import Column, Reader
from api.dashboards.settled import GRACE_S, lead, settled
from api.dashboards.specs import Spec, Specs
from api.dashboards.steps import Grid, round_step
from api.dashboards.watcher import (
    WAITING,
    Changed,
    End,
    Message,
    Problem,
    Tick,
    Watcher,
    Windows,
)
from core.errors import ApiError, GraphStoreError
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
class Part:
    """The newest columns of a panel.

    The first ``count`` times are final; ``waits`` says whether the
    next one is waited for.
    """

    asked: Asked
    grid: Grid
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

    ``asked`` are the panels with series, ``step`` is the step of the ticks. A panel
    with less frequent samples has a value only in every so many ticks.
    """

    def __init__(
        self,
        reader: Reader,
        specs: Specs,
        spec: Spec,
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
        self._told: dict[int, dict[str, int]] = {}
        self.asked = [
            Asked(spec, panel, component)
            for panel in spec.panels.values()
            if panel.targets and not panel.problem
        ]
        self._steps = {asked.panel.id: self.step_of(asked) for asked in self.asked}

    def step_of(self, asked: Asked) -> int:
        """Return the seconds between a panel's points: a multiple of its step."""
        step = round_step(0, 1, max(asked.period, self.step))
        return -(-step // self.step) * self.step

    async def run(self) -> None:
        """Poll until cancelled; an unexpected error is logged and ends the streams."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_store())
                tasks.create_task(self._follow_graph())
        except Exception:
            _LOG.exception("a live dashboard failed")
            self.tell(End())

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
                self._ailing("store", f"{self._reader.store.url} {_HANGS}")
                pause = _AGAIN_S
            except ApiError as error:
                self._ailing("store", error.detail)
                pause = _AGAIN_S
            else:
                self._well("store")
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
            except GraphStoreError as error:
                self._ailing("graph", error.detail)
                continue
            except ApiError:
                self._compare(True)
            self._well("graph")

    def _compare(self, differs: bool) -> None:
        if differs and not self.changed:
            self.changed = True
            self.tell(Changed())

    def _ailing(self, what: str, detail: str) -> None:
        if self.problems.get(what) != detail:
            self.problems[what] = detail
            self.tell(Problem(detail))

    def _well(self, what: str) -> None:
        if self.problems.pop(what, None):
            self.tell(Windows(recovered=not self.problems))
            self._later = time.time() + _LATER_S
        if self._later and time.time() > self._later:
            self._later = 0.0
            self.tell(Windows())

    def _remember(self, at: int, parts: list[Part]) -> None:
        """Remember how many values of a tick were known when it was sent."""
        self._told = {
            time: known for time, known in self._told.items() if time > at - GRACE_S
        }
        self._told[at] = {part.asked.panel.id: part.known(at) for part in parts}

    def _is_late(self, parts: list[Part]) -> bool:
        """Whether values have arrived that were missing in a tick that was sent."""
        return any(
            part.known(at) > known.get(part.asked.panel.id, 0)
            for at, known in self._told.items()
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
            self._told.clear()
            self.tell(Windows())
        parts = await self._parts(now)
        horizon = max(self.last, self._horizon(parts, now))
        first = not self.ready.is_set() or "store" in self.problems
        if first or (horizon - self.last) // self.step > WAITING:
            self.last = horizon
            self._told.clear()
            if not first:
                self.tell(Windows())
        if not self._later and self._is_late(parts):
            self._later = now + _LATE_S
        while self.last < horizon:
            self.last += self.step
            self._remember(self.last, parts)
            self.tell(Tick(self.last, _body(self.last, parts)))

    async def _parts(self, now: float) -> list[Part]:
        """Read the newest columns of the panels that are due, in few queries."""
        due: dict[Grid, list[Asked]] = {}
        for asked in self.asked:
            times = self._due(asked, now)
            if times.count:
                due.setdefault(lead(times, now), []).append(asked)
        parts = []
        for times, several in due.items():
            panels = [asked.panel for asked in several]
            found = await self._reader.together(panels, times, self.component)
            for asked, columns in zip(several, found, strict=True):
                count, waits = settled(columns, times, now, asked.period)
                parts.append(Part(asked, times, columns, count, waits))
        return parts

    def _due(self, asked: Asked, now: float) -> Grid:
        """Return the times of a panel since the last tick; may be empty."""
        step = self._steps[asked.panel.id]
        first = self.last // step * step + step
        return Grid(first, step, max(0, int((now - first) // step) + 1))

    def _horizon(self, parts: list[Part], now: float) -> int:
        """Return the last step whose expected values have all arrived."""
        found = [part.horizon for part in parts if part.waits]
        late = int(now - GRACE_S) if parts else int(now)
        return min([*found, int(now)] if found else [late]) // self.step * self.step


def _body(at: int, parts: list[Part]) -> bytes:
    panels, bounded = {}, {}
    for part in parts:
        if not (values := part.at(at)):
            continue
        id_ = part.asked.panel.id
        shown, where = within(part.asked.panel, [[value] for value in values])
        panels[id_] = orjson.Fragment(row([value for (value,) in shown]))
        if where:
            bounded[id_] = where
    return orjson.dumps({"time": at, "panels": panels, "bounded": bounded})
