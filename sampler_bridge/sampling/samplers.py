"""The samplers of one host: one for each period of its plan."""

import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from threading import Event, Lock

from sampler_bridge.errors import StateError
from sampler_bridge.sampling.journal import Journal
from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.sampler import Sampler
from sampler_bridge.sampling.writer_thread import WriterThread
from sampling.plan_file.plan import FetchGroup, SamplingPlan
from sampling.sources.source import Gap, Source

# How long to wait for new samplers to look up their metrics before the plan changes.
# The longer time applies while current samplers give values, as over a slow network.
_READY_SECONDS = 2.0
_LONGEST_READY_SECONDS = 4.0
# The plan changes at a moment in the future, so that all samplers know of it in time.
# If a source is slower than its period, its fetches begin up to half a period early,
# but no more than 5 s: PCP waits at most 10 s for an answer.
_HEARD_MS = 50
_LONGEST_EARLY_MS = 5000
# A fetch that hangs may be followed by a reconnection and another fetch.
_LAST_TICK_SECONDS = 60.0


class Samplers:
    """Keeps a sampler running for each period of the plan it was last given.

    ``new_source`` makes the source for a period in ms. A sampler that stays loses no
    tick.
    """

    def __init__(
        self, host: str, new_source: Callable[[int], Source], recorder: Recorder
    ) -> None:
        self._host = host
        self._new_source = new_source
        self._recorder = recorder
        self._writer = WriterThread(host)
        self._lock = Lock()
        self._running: dict[int, Sampler] = {}
        self._leaving: list[Sampler] = []
        self._stopped = False
        self._changed_at = 0.0

    def apply(self, plan: SamplingPlan, restart_all: bool = False) -> None:
        """Sample this plan from one moment on, the same for all samplers.

        A period that is new, or has new metrics, gets a new sampler, which gets ready
        before that moment. A sampler that is not needed any more works until then. So a
        series that moves from one sampler to another has each tick exactly once. With
        ``restart_all``, for sources at another address, every period gets a new
        sampler, and the old sources are unused on return. Raises StateError if no
        threads can be started.
        """
        if not self._writer.has_begun:
            self._writer.start()
        groups = plan.groups()
        with self._lock:
            old = {} if restart_all else dict(self._running)
            before = list(self._running.values())
        new = {
            period_ms: self._new(period_ms)
            for period_ms, group in groups.items()
            if period_ms not in old or not old[period_ms].knows(group)
        }
        _prepare(new, groups)
        _wait_until_ready(new.values(), before)
        self._wait_for_moment()
        with self._lock:
            if self._stopped:
                _stop(new.values(), 0.0)
            else:
                self._switch_samplers(groups, {**old, **new})
        if restart_all:
            self._wait_for_moment()

    def _switch_samplers(
        self, groups: Mapping[int, FetchGroup], running: Mapping[int, Sampler]
    ) -> None:
        before = list(self._running.values())
        self._running = {period_ms: running[period_ms] for period_ms in groups}
        left = [one for one in before if one not in self._running.values()]
        ahead_ms = _lead_ms(before)
        moment_ms = time.time_ns() // 1_000_000 + ahead_ms
        self._changed_at = time.monotonic() + ahead_ms / 1000
        for sampler in left:
            sampler.end(moment_ms)
        for period_ms, sampler in self._running.items():
            sampler.plan(groups[period_ms], moment_ms)
        self._leaving = [one for one in (*self._leaving, *left) if one.alive]

    def _wait_for_moment(self) -> None:
        """Wait until the last change of samplers has taken effect."""
        time.sleep(max(0.0, self._changed_at - time.monotonic()))

    def stop(self, seconds: float) -> None:
        """Finish the running ticks, each within ``seconds``, and end.

        Ticks that take longer are not waited for, but are still recorded.
        """
        until = time.monotonic() + seconds
        with self._lock:
            self._stopped = True
            samplers = self._samplers
        _stop(samplers, 0.0)
        _stop(samplers, seconds)
        last_ticks = partial(_stop, samplers, _LAST_TICK_SECONDS)
        self._writer.stop(max(0.0, until - time.monotonic()), last_ticks)

    @property
    def _samplers(self) -> list[Sampler]:
        """Running samplers, including those that run until others have taken over."""
        return [*self._running.values(), *self._leaving]

    @property
    def ended(self) -> bool:
        """Whether none of its threads runs any more."""
        with self._lock:
            workers = [self._writer, *self._samplers]
        return not any(worker.alive for worker in workers)

    @property
    def alive(self) -> bool:
        """Whether every thread that was started still runs."""
        with self._lock:
            workers = [self._writer, *self._running.values()]
        return not any(worker.has_died for worker in workers)

    @property
    def reason(self) -> str | None:
        """Why the source gives no values; None if it answers."""
        with self._lock:
            samplers = list(self._running.values())
        if not samplers:
            return "there is no plan: waiting for one"
        return next((one.cause.detail for one in samplers if one.cause), None)

    @property
    def gaps(self) -> Mapping[str, Gap]:
        """Metrics that had no value, or not all values, at their last tick."""
        with self._lock:
            return {
                metric: gap
                for sampler in self._running.values()
                for metric, gap in sampler.gaps.items()
            }

    def _new(self, period_ms: int) -> Sampler:
        journal = Journal(self._host, self._recorder)
        source = self._new_source(period_ms)
        return Sampler(period_ms, source, journal, self._writer)


def _prepare(new: Mapping[int, Sampler], groups: Mapping[int, FetchGroup]) -> None:
    """Prepare samplers: all of them or, with a StateError, none."""
    try:
        for period_ms, sampler in new.items():
            sampler.prepare(groups[period_ms])
    except StateError:
        _stop(new.values(), 0.0)
        raise


def _wait_until_ready(new: Collection[Sampler], old: Collection[Sampler]) -> None:
    """Wait until new samplers are ready, longest if old ones still give values.

    If none does, also stop waiting when the first attempts to connect have failed. The
    ticks of a sampler that is not ready count as missing.
    """
    began = time.monotonic()
    _wait([sampler.tried for sampler in new], began + _READY_SECONDS)
    if any(sampler.cause is None for sampler in old):
        _wait([sampler.ready for sampler in new], began + _LONGEST_READY_SECONDS)


def _wait(events: Collection[Event], until: float) -> None:
    for event in events:
        event.wait(max(0.0, until - time.monotonic()))


def _lead_ms(old: Collection[Sampler]) -> int:
    """How far ahead the plan changes, so that all samplers know of it in time.

    Otherwise one could already have begun a fetch for a tick after the change.
    """
    if not old:
        return 0
    early_ms = max(sampler.early_ms for sampler in old)
    return _HEARD_MS + min(early_ms, _LONGEST_EARLY_MS)


def _stop(samplers: Collection[Sampler], seconds: float) -> None:
    """Stop samplers, and wait up to ``seconds`` for their running ticks."""
    until = time.monotonic() + seconds
    for sampler in samplers:
        sampler.stop(max(0.0, until - time.monotonic()))
