"""The samplers of one PMCD, and the connection that they share."""

from collections.abc import Callable

from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.samplers import Samplers
from sampler_bridge.sources.timed import TimedSource
from sampler_bridge.transport.transport import Transport, TransportSource
from sampling.account.cost import Cost
from sampling.plan_file.plan import SamplingPlan
from sampling.sources.pcp_source import PcpSource
from sampling.sources.source import Source

# Makes a connection to an address and, there, a socket; "" is PMCD's own socket.
NewTransport = Callable[[str, str], Transport]


class HostConnection:
    """The samplers of one PMCD of a host."""

    def __init__(
        self, name: str, new_transport: NewTransport, recorder: Recorder, cost: Cost
    ) -> None:
        self.samplers = Samplers(name, self._source, recorder)
        self._new_transport = new_transport
        self._cost = cost
        self._place: tuple[str, str] | None = None
        self._transport: Transport | None = None

    @property
    def pcp(self) -> str:
        """The local address of the PMCD; empty without a connection."""
        return self._transport.pcp if self._transport else ""

    @property
    def alive(self) -> bool:
        """Whether its samplers run, and the thread that keeps its connection open."""
        return self.samplers.alive and (
            self._transport is None or self._transport.alive
        )

    def take(self, plan: SamplingPlan, address: str, socket: str = "") -> None:
        """Sample a plan at an address from now on; an empty one opens no connection."""
        replaced = (
            self._switch_to((address, socket))
            if plan.names or self._transport
            else None
        )
        self.samplers.apply(plan, restart_all=replaced is not None)
        if replaced is not None:
            replaced.stop()

    def stop(self, seconds: float) -> None:
        """Finish the running ticks, each within ``seconds``, and disconnect."""
        self.samplers.stop(seconds)
        if self._transport is not None:
            self._transport.stop()

    def _switch_to(self, place: tuple[str, str]) -> Transport | None:
        """Connect to a place if it is new; return the connection that was replaced."""
        if self._transport is not None and place == self._place:
            return None
        transport = self._new_transport(*place)
        transport.start()
        replaced, self._transport, self._place = self._transport, transport, place
        return replaced

    def _source(self, period_ms: int) -> Source:
        assert self._transport is not None  # noqa: S101
        source = TransportSource(self._transport, PcpSource(self._transport.pcp))
        return TimedSource(source, self._cost, period_ms)
