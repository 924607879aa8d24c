"""What a probe costs: predicted from the rate of its calls, and its limit."""

from dataclasses import dataclass

from sampling.probes.definition import CodeProbe
from sampling.probes.errors import ProbeCostError

# CPU time of one call (ns), as `make bench ONLY=probes` measures it on a virtual
# machine with two CPUs. Begin and end of a pair are counted as one. A function whose
# first instruction the kernel emulates, such as a push, costs a part of this.
NS_PER_CALL = {
    ("uprobe", False): 3500.0,
    ("uprobe", True): 4200.0,
    ("usdt", False): 350.0,
    ("usdt", True): 750.0,
    ("tracepoint", False): 30.0,
    ("tracepoint", True): 120.0,
}
# More for a call that is counted by thread or control group, or whose argument is read.
NS_OF_KEY, NS_OF_ARGUMENT = 15.0, 10.0
DEFAULT_PERCENT = 5.0  # of one CPU


@dataclass(frozen=True)
class ProbeCost:
    """Calls per second, and the share of one CPU that the probe would take."""

    rate: float
    share: float

    def __str__(self) -> str:
        return f"{self.rate:,.0f} calls/s, which take {self.share:.2%} of a CPU"


def ns_per_call(probe: CodeProbe) -> float:
    """CPU time that a call with the probe takes longer (ns)."""
    has_key = probe.by in ("thread", "cgroup")  # the counts of CPUs are apart anyway
    more = NS_OF_KEY * has_key + NS_OF_ARGUMENT * bool(probe.argument)
    return NS_PER_CALL[probe.begin.kind, probe.times] + more


def predict(probe: CodeProbe, rate: float) -> ProbeCost:
    """What a probe costs at a rate (calls/s)."""
    return ProbeCost(rate, rate * ns_per_call(probe) / 1e9)


def check_cost(probe: CodeProbe, cost: ProbeCost, percent: float) -> None:
    """Raise ProbeCostError if a probe costs more than ``percent`` of a CPU."""
    if cost.share * 100 > percent:
        raise ProbeCostError(
            f"probe {probe.name} has {cost}, more than {percent:g} %: probe what is "
            "called less often, give a larger --percent, or --yes"
        )
