"""Runs the `why` diagnosis on the status that a real bridge wrote."""

from queries.diagnosis import Finding, MetricFacts
from sampling.account.bridge_status import read_bridge
from sampling.why.verdict import Evidence, judge
from tests.sampler_bridge.servers import BridgeProcess

_PLANNED = MetricFacts(
    host=True,
    pcp_asked=True,
    metric=True,
    exposed=True,
    plans=("monitor",),
    period=0.2,
)


def explained(
    bridge: BridgeProcess, metric: str, host: str = "", instance: str = ""
) -> Finding:
    """Why a planned metric has no value on a host (default: the local one)."""
    host = host or bridge.options["host"]
    status = read_bridge(bridge.state, host)
    return judge(Evidence(host, metric, instance or None, _PLANNED, status))
