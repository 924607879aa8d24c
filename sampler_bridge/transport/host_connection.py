"""The samplers of one PMCD, and the connection that they share."""

from collections.abc import Callable

from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.samplers import Samplers
from sampler_bridge.sources.timed import TimedSource
from sampler_bridge.transport.transport import ReachedSource, Way
from sampling.account.cost import Cost
from sampling.plan_file.plan import Plan
from sampling.sources.pcp_source import PcpSource
from sampling.sources.source import Source

# Makes a connection to an address and, there, a socket; "" is PMCD's own socket.
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
        """The local address of the PMCD; empty without a connection."""
        return self._way.pcp if self._way else ""

    @property
    def alive(self) -> bool:
        """Whether its samplers run, and the thread that keeps its connection open."""
        return self.samplers.alive and (self._way is None or self._way.alive)

    def take(self, plan: Plan, address: str, socket: str = "") -> None:
        """Sample a plan at an address from now on; an empty one opens no connection."""
        left = self._go((address, socket)) if plan.names or self._way else None
        self.samplers.apply(plan, anew=left is not None)
        if left is not None:
            left.stop()

    def stop(self, seconds: float) -> None:
        """Finish the running ticks, each within ``seconds``, and disconnect."""
        self.samplers.stop(seconds)
        if self._way is not None:
            self._way.stop()

    def _go(self, place: tuple[str, str]) -> Way | None:
        """Connect to a place if it is new; return the connection that was replaced."""
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
