"""The samplers of one host: one for each period of its plan."""

from collections.abc import Callable, Mapping
from threading import Lock

from sampler_bridge.plan import Plan
from sampler_bridge.recorder import Recorder
from sampler_bridge.sampler import Sampler
from sampler_bridge.source import Gap, Source


class Samplers:
    """Keeps a sampler running for each period of the plan it was last given.

    ``new_source`` makes the source of each; a sampler that stays loses no tick.
    """

    def __init__(
        self, host: str, new_source: Callable[[], Source], recorder: Recorder
    ) -> None:
        self._host = host
        self._new_source = new_source
        self._recorder = recorder
        self._lock = Lock()
        self._running: dict[int, Sampler] = {}

    def apply(self, plan: Plan) -> None:
        """Sample this plan from the next tick on."""
        periods = plan.periods()
        with self._lock:
            for period_ms in self._running.keys() - periods.keys():
                self._running.pop(period_ms).stop(0.0)
            for period_ms, names in periods.items():
                self._sampler(period_ms).plan(names)

    def stop(self, seconds: float) -> None:
        """Finish the running ticks, each within ``seconds``, and end."""
        with self._lock:
            for sampler in self._running.values():
                sampler.stop(seconds)

    @property
    def alive(self) -> bool:
        """Whether every sampler's thread runs."""
        with self._lock:
            return all(sampler.alive for sampler in self._running.values())

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

    def _sampler(self, period_ms: int) -> Sampler:
        sampler = self._running.get(period_ms)
        if sampler is None:
            source = self._new_source()
            sampler = Sampler(self._host, period_ms, source, self._recorder)
            self._running[period_ms] = sampler
            sampler.start()
        return sampler
