"""Samplers that all go one way, until it leads elsewhere."""

from collections.abc import Callable

from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.samplers import Samplers
from sampler_bridge.sources.timed import TimedSource
from sampler_bridge.transport.transport import ReachedSource, Way
from sampling.account.cost import Cost
from sampling.plan_file.plan import Plan
from sampling.sources.pcp_source import PcpSource
from sampling.sources.source import Source

# A way to an address, and there to a socket other than PMCD's own; "" is PMCD's own.
NewWay = Callable[[str, str], Way]


class Route:
    """The samplers of one PMCD of a host."""

    def __init__(
        self, name: str, new_way: NewWay, recorder: Recorder, cost: Cost
    ) -> None:
        self.samplers = Samplers(name, self._source, recorder)
        self._new_way = new_way
        self._cost = cost
        self._place: tuple[str, str] | None = None
        self._way: Way | None = None

    @property
    def pcp(self) -> str:
        """Where the PMCD is reached from here; empty while there is no way."""
        return self._way.pcp if self._way else ""

    @property
    def alive(self) -> bool:
        """Whether its samplers run, and what keeps its way open."""
        return self.samplers.alive and (self._way is None or self._way.alive)

    def take(self, plan: Plan, address: str, socket: str = "") -> None:
        """Sample a plan at an address from now on; nothing opens a way for nothing."""
        left = self._go((address, socket)) if plan.names or self._way else None
        self.samplers.apply(plan, anew=left is not None)
        if left is not None:
            left.stop()

    def stop(self, seconds: float) -> None:
        """Finish the running ticks, each within ``seconds``, and give the way up."""
        self.samplers.stop(seconds)
        if self._way is not None:
            self._way.stop()

    def _go(self, place: tuple[str, str]) -> Way | None:
        """Take the way to a place; gives the one that is left for it, if any."""
        if self._way is not None and place == self._place:
            return None
        way = self._new_way(*place)
        way.start()
        left, self._way, self._place = self._way, way, place
        return left

    def _source(self, period_ms: int) -> Source:
        assert self._way is not None  # noqa: S101
        there = ReachedSource(self._way, PcpSource(self._way.pcp))
        return TimedSource(there, self._cost, period_ms)
