"""The clock of one group of metrics: fetches at each tick and hands the values on.

A sampler has one thread, source and period. Other periods and hosts have their own
samplers, which neither delay nor break this one.
"""

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from threading import Condition, Event

from core.linux import priority
from sampler_bridge.sampling.journal import Journal
from sampler_bridge.sampling.restarting import RestartingWorker
from sampler_bridge.sampling.ticks import (
    FetchPace,
    NextTick,
    first_tick,
    is_set_back,
    next_tick,
    tick_of,
)
from sampler_bridge.sampling.writer_thread import WriterThread
from sampling.account.account import LATE, SLOW_SOURCE
from sampling.account.reasons import GapCause, GapReason
from sampling.errors import SourceDownError
from sampling.plan_file.plan import FetchGroup
from sampling.sources.source import Gap, Sample, Source, select

_LOG = logging.getLogger(__name__)

_NOT_YET = GapCause(GapReason.DOWN, "the source was not reached yet", is_start=True)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0
_LONGEST_WAIT = 5.0  # seconds between checks whether the clock was set


class Sampler(RestartingWorker):
    """Samples metrics of one host at one period (ms) from one source.

    ``cause`` says why the source does not answer (None: it does), ``early_ms`` how
    long before its tick the next fetch may begin. The writer thread passes the results
    of a tick to the journal. ``clock`` returns the time in ns.
    """

    level = priority.FETCHING

    def __init__(
        self,
        period_ms: int,
        source: Source,
        journal: Journal,
        writer: WriterThread,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        super().__init__(f"sampler-{period_ms}")
        self.cause: GapCause | None = _NOT_YET
        self._source = source
        self.period_ms = period_ms
        self.tried, self.ready = Event(), Event()
        self._journal = journal
        self._writer = writer
        self._clock = clock
        self._pace = FetchPace()
        self.early_ms = 0
        self._changed = Condition()
        self._stopping = False
        self._next_plans: deque[tuple[int, FetchGroup | None]] = deque()
        self._group = FetchGroup()
        self._planned: FetchGroup | None = None
        self._pause, self._connect_at = _FIRST_PAUSE, 0.0
        self._accounted_ms: int | None = None
        self._interruption = LATE  # why sampling was interrupted last

    @property
    def gaps(self) -> Mapping[str, Gap]:
        """Metrics that had no value, or not all values, at the last tick."""
        return self._journal.gaps

    def prepare(self, group: FetchGroup) -> None:
        """Start, connect to the source and look up the metrics; then set ``ready``.

        ``tried`` is set then, or earlier if the first attempt to connect fails. The
        first tick is the first after the moment that `plan` names.
        """
        self._group = group
        self.start()

    def knows(self, group: FetchGroup) -> bool:
        """Whether all metrics of a group are planned, so none needs preparation."""
        planned = self._planned.names.keys() if self._planned else frozenset()
        return group.names.keys() <= planned

    def plan(self, group: FetchGroup, moment_ms: int) -> None:
        """Sample this group at all ticks after a moment."""
        # An unchanged group continues without a switch of plans.
        if group != self._planned:
            self._planned = group
            self._add_plan(group, moment_ms)

    def end(self, moment_ms: int) -> None:
        """Sample up to a moment, then end; the caller does not wait."""
        self._add_plan(None, moment_ms)

    def stop(self, seconds: float) -> None:
        """Finish the running tick within ``seconds``, and end."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._join(seconds)

    def _add_plan(self, group: FetchGroup | None, moment_ms: int) -> None:
        with self._changed:
            self._next_plans.append((moment_ms, group))
            self._changed.notify()

    def _sample(self) -> None:
        self._switch_to(self._group)
        self._wait_for_source()
        tick_ms = self._first_tick()
        while (due_ms := self._wait_for(tick_ms)) is not None:
            tick_ms = due_ms
            if self._is_near(tick_ms):
                tick_ms, cause = self._tick(tick_ms)
            else:
                cause = self.cause or LATE
                self._skip(1, cause)
            self._accounted_ms = tick_ms
            tick_ms = self._next_after(tick_ms, cause)
            self._accounted_ms = tick_ms - self.period_ms
        self._source.close()

    def _first_tick(self) -> int:
        """The first tick; ticks that passed since an interruption count as missing."""
        if self._accounted_ms is None:
            return first_tick(self._first_moment(), self.period_ms)
        return self._next_after(self._accounted_ms, self._interruption)

    def _on_failure(self, cause: GapCause) -> None:
        self.cause = self._interruption = cause
        self.early_ms = 0
        with contextlib.suppress(Exception):
            self._source.close()

    def _next_after(self, tick_ms: int, cause: GapCause) -> int:
        """The next tick; ticks that passed meanwhile are skipped while the plan holds.

        Later ones are left to the next plan, in this sampler or in another.
        """
        then = next_tick(tick_ms, self._now_ms(), self.period_ms)
        if then.skipped and self._is_superseded(then.tick_ms - self.period_ms):
            last_ms = max(self._last_tick_ms(), tick_ms)
            passed = (last_ms - tick_ms) // self.period_ms
            then = NextTick(last_ms + self.period_ms, passed)
        self._skip(then.skipped, cause)
        return then.tick_ms

    def _first_moment(self) -> int:
        """Wait for a plan; return the moment from which it holds, in ms."""
        self._wait_for_plan(None)
        with self._changed:
            return self._next_plans[0][0] if self._next_plans else self._now_ms()

    def _wait_for_plan(self, seconds: float | None) -> bool:
        """Wait up to ``seconds`` for a plan or the end; return whether one came."""
        with self._changed:
            return self._changed.wait_for(
                lambda: bool(self._next_plans) or self._stopping, seconds
            )

    def _wait_for_source(self) -> None:
        """Try to connect until the source answers, or until a plan is given anyway."""
        self._connect_when_due()
        while not self._source.connected:
            self.tried.set()
            if self._wait_for_plan(self._patience()):
                break
            self._connect_when_due()
        self._warm_up()
        self.tried.set()
        self.ready.set()

    def _warm_up(self) -> None:
        """Fetch once without recording, so that the names of instances are known."""
        with contextlib.suppress(SourceDownError):
            _ = self._source.fetch().points

    def _wait_for(self, tick_ms: int) -> int | None:
        """Wait for a tick, ready to fetch; None when sampling ends.

        Returns that tick, or another one if the clock was set back far.
        """
        while True:
            tick_ms = self._after_clock_step(tick_ms)
            self._prepare(tick_ms)
            with self._changed:
                if self._stopping:
                    return None
                if self._is_superseded(tick_ms):
                    continue
                begin_ms = tick_ms - self.early_ms
                seconds = (begin_ms * 1_000_000 - self._clock()) / 1e9
                if seconds <= 0:
                    return tick_ms
                self._changed.wait(min(seconds, self._patience()))

    def _after_clock_step(self, tick_ms: int) -> int:
        """The tick to wait for; after a clock step back, the first of the new time."""
        now_ms = self._now_ms()
        if not is_set_back(tick_ms, now_ms, self.period_ms):
            return tick_ms
        with self._changed:
            # Changes due at a moment of the old time are due now.
            moments = [(min(ms, now_ms), group) for ms, group in self._next_plans]
            self._next_plans = deque(moments)
        return first_tick(now_ms, self.period_ms)

    def _is_superseded(self, tick_ms: int) -> bool:
        """Whether another plan holds for a tick."""
        return bool(self._next_plans) and self._next_plans[0][0] < tick_ms

    def _last_tick_ms(self) -> int:
        """The last tick of the current plan, when another plan waits."""
        return self._next_plans[0][0] // self.period_ms * self.period_ms

    def _patience(self) -> float:
        if self._source.connected:
            return _LONGEST_WAIT
        return max(self._connect_at - time.monotonic(), 0.001)

    def _prepare(self, tick_ms: int) -> None:
        """Switch to the plan that holds for a tick, and reconnect to a lost source."""
        while self._is_superseded(tick_ms):
            _, group = self._next_plans.popleft()
            if group is None:
                self._stopping = True
            elif group != self._group:
                self._switch_to(group)
        self._connect_when_due()

    def _switch_to(self, group: FetchGroup) -> None:
        self._group = group
        self._writer.give(partial(self._journal.planned, group))
        select(self._source, list(group.names), group.only)

    def _skip(self, ticks: int, cause: GapCause) -> None:
        if ticks:
            self._writer.give(partial(self._journal.skipped, ticks, cause))

    def _connect_when_due(self) -> None:
        if not self._source.connected and time.monotonic() >= self._connect_at:
            self._connect()

    def _connect(self) -> None:
        try:
            self._source.connect()
        except SourceDownError as error:
            self._on_source_down(error)
            self._connect_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        else:
            self._pause = _FIRST_PAUSE
            self._note_answer()

    def _tick(self, tick_ms: int) -> tuple[int, GapCause]:
        """Fetch; return the last tick dealt with, and why later ones are skipped."""
        if not self._source.connected:
            self.cause = self.cause or _NOT_YET
            return self._record_silence(tick_ms, self.cause)
        try:
            began_ms, sample = self._fetch(tick_ms)
        except SourceDownError as error:
            return self._record_silence(tick_ms, self._on_source_down(error))
        self._note_answer()
        ended_ms = self._now_ms()
        took_ms = ended_ms - began_ms
        # Fetch again at once from a source that needs more than a period.
        self.early_ms = self.period_ms // 2 if took_ms >= self.period_ms else 0
        if self._pace.is_held_up(took_ms, self.period_ms):
            return self._record_silence(tick_ms, SLOW_SOURCE)
        why = SLOW_SOURCE if 2 * took_ms > self.period_ms else LATE
        got_ms = tick_of(tick_ms, began_ms, ended_ms, self.period_ms)
        if got_ms is None:
            return self._record_silence(tick_ms, why)
        if self._is_superseded(got_ms):
            return self._leave_rest(tick_ms, SLOW_SOURCE)
        self._skip((got_ms - tick_ms) // self.period_ms, SLOW_SOURCE)
        self._writer.give(partial(self._journal.fetched, got_ms, sample))
        return got_ms, why

    def _record_silence(self, tick_ms: int, cause: GapCause) -> tuple[int, GapCause]:
        if self._is_superseded(tick_ms):
            return self._leave_rest(tick_ms, cause)
        self._writer.give(partial(self._journal.silent, cause))
        return tick_ms, cause

    def _leave_rest(self, tick_ms: int, cause: GapCause) -> tuple[int, GapCause]:
        """Leave later ticks to the next plan; count the rest of this plan's as missing.

        The next plan may belong to another sampler, and a tick must be recorded once.
        """
        last_ms = max(self._last_tick_ms(), tick_ms - self.period_ms)
        self._skip((last_ms - tick_ms) // self.period_ms + 1, cause)
        return last_ms, cause

    def _fetch(self, tick_ms: int) -> tuple[int, Sample]:
        """Fetch; return when it began (ms) and the values.

        Reconnects to a restarted source and fetches again, but not when it is too late
        for the tick: the values would belong to a later one.
        """
        try:
            return self._now_ms(), self._source.fetch()
        except SourceDownError:
            if self._is_near(tick_ms):
                self._source.connect()
            if not self._is_near(tick_ms):
                raise
            return self._now_ms(), self._source.fetch()

    def _is_near(self, tick_ms: int) -> bool:
        """Whether a tick is still the nearest one to now."""
        return self._now_ms() - tick_ms <= self.period_ms // 2

    def _note_answer(self) -> None:
        if self.cause is not None:
            _LOG.info("the source of %s answers", self._journal.host)
        self.cause = None

    def _on_source_down(self, error: SourceDownError) -> GapCause:
        self.early_ms = 0
        if self.cause is None:
            _LOG.warning("%s", error)
        self.cause = GapCause(GapReason.DOWN, str(error), error.is_start)
        return self.cause

    def _now_ms(self) -> int:
        return self._clock() // 1_000_000
