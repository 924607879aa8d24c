"""The samplers of one host: one for each period of its plan."""

import time
from collections.abc import Callable, Mapping
from threading import Lock

from sampler_bridge.plan.plan import Group, Plan
from sampler_bridge.sampling.journal import Journal
from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.sampler import Sampler
from sampler_bridge.sampling.scribe import Scribe
from sampler_bridge.sources.source import Gap, Source

# How long a new sampler may take to look its metrics up before all others go on.
_READY_SECONDS = 2.0


class Samplers:
    """Keeps a sampler running for each period of the plan it was last given.

    ``new_source`` makes the source of one, by its period in ms; a sampler that stays
    loses no tick.
    """

    def __init__(
        self, host: str, new_source: Callable[[int], Source], recorder: Recorder
    ) -> None:
        self._host = host
        self._new_source = new_source
        self._recorder = recorder
        self._scribe = Scribe(host)
        self._scribe.start()
        self._lock = Lock()
        self._running: dict[int, Sampler] = {}
        self._stopped = False

    def apply(self, plan: Plan, anew: bool = False) -> None:
        """Sample this plan from one moment on, the same for all samplers.

        A period that is new, or has new metrics, gets a new sampler, made ready before
        that moment; one that ends works until it. So a series that goes from one to
        another misses no tick and has none twice. ``anew`` is every period new: what
        is behind the sources moved.
        """
        groups = plan.groups()
        with self._lock:
            old = dict(self._running)
        new = {
            period_ms: self._new(period_ms)
            for period_ms, group in groups.items()
            if anew or period_ms not in old or not old[period_ms].knows(group)
        }
        self._make_ready(new, groups)
        moment_ms = time.time_ns() // 1_000_000
        with self._lock:
            if self._stopped:
                return
            self._running = {ms: new.get(ms) or old[ms] for ms in groups}
            for period_ms, sampler in self._running.items():
                sampler.plan(groups[period_ms], moment_ms)
            for period_ms, sampler in old.items():
                if self._running.get(period_ms) is not sampler:
                    sampler.end(moment_ms)

    def _make_ready(
        self, new: Mapping[int, Sampler], groups: Mapping[int, Group]
    ) -> None:
        for period_ms, sampler in new.items():
            sampler.prepare(groups[period_ms])
        deadline = time.monotonic() + _READY_SECONDS
        for sampler in new.values():
            sampler.ready.wait(max(0.0, deadline - time.monotonic()))

    def stop(self, seconds: float) -> None:
        """Finish the running ticks, each within ``seconds``, and end."""
        until = time.monotonic() + seconds
        with self._lock:
            self._stopped = True
            running = list(self._running.values())
        for sampler in running:
            sampler.stop(0.0)
        for sampler in running:
            sampler.stop(max(0.0, until - time.monotonic()))
        self._scribe.stop(max(0.0, until - time.monotonic()))

    @property
    def ended(self) -> bool:
        """Whether none of its threads runs any more."""
        with self._lock:
            workers = [self._scribe, *self._running.values()]
        return not any(worker.alive for worker in workers)

    @property
    def alive(self) -> bool:
        """Whether every thread runs."""
        with self._lock:
            workers = [self._scribe, *self._running.values()]
        return all(worker.alive for worker in workers)

    @property
    def reason(self) -> str | None:
        """Why nothing comes from the source; None: it answers."""
        with self._lock:
            samplers = list(self._running.values())
        if not samplers:
            return "nothing is planned: waiting for a plan"
        return next((one.reason for one in samplers if one.reason), None)

    @property
    def gaps(self) -> Mapping[str, Gap]:
        """Metrics that gave nothing, or not everything, at their last tick."""
        with self._lock:
            return {
                metric: gap
                for sampler in self._running.values()
                for metric, gap in sampler.gaps.items()
            }

    def _new(self, period_ms: int) -> Sampler:
        journal = Journal(self._host, self._recorder)
        source = self._new_source(period_ms)
        return Sampler(period_ms, source, journal, self._scribe)
