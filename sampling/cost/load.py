"""The load of plans per second on PMCD, its agents, the bridge and the store."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from sampling.cost.wire import FetchBytes
from sampling.events.event import is_counter
from sampling.plan_file.choice import InstanceSelection
from sampling.plan_file.plan import FetchGroup, SamplingPlan, split_plan
from sampling.sources.local_metrics import is_local

PMCD, BRIDGE, STORE = "pmcd", "bridge", "store"
# The agent of PMU events, which a separate PMCD starts.
COUNTERS = "perfevent"
# The agent of derived metrics, and of metrics with an agent unknown to the probe.
UNKNOWN_AGENT = "unknown"
_TERMS = {
    PMCD: ("fetches", "values"),
    BRIDGE: ("fetches", "sends", "values", "points"),
    STORE: ("sends", "points"),
}
# How long the bridge gathers points before it sends them, at 4 ms a request.
_GATHER_SECONDS = 0.2
_AGENT_TERMS = ("fetches", "reads", "values")


@dataclass(frozen=True)
class FetchSize:
    """What one fetch of a metric gives: how many values, from which agent."""

    agent: str
    values: int


@dataclass(frozen=True)
class AgentLoad:
    """The load of an agent per second.

    ``reads`` is instances times families of metrics: the metrics of a family (the first
    two words of a name, such as ``proc.psinfo``) come from one file for each process.
    """

    fetches: float = 0.0
    reads: float = 0.0
    values: float = 0.0

    def plus(self, other: "AgentLoad", times: float = 1.0) -> "AgentLoad":
        """The sum; the other one counts ``times`` times."""
        return AgentLoad(
            *(getattr(self, f.name) + times * getattr(other, f.name) for f in _ASKED)
        )


_ASKED = fields(AgentLoad)


@dataclass(frozen=True)
class SamplingLoad:
    """Fetches, fetched values and written points each second; and the number of series.

    More values than points are fetched if a plan samples only some instances: PMCD
    gives all instances of a metric. ``network`` and ``secured`` are bytes between PMCD
    and bridge, plain and through ssh. ``unknown`` are metrics with an unknown number of
    values; they are left out.
    """

    fetches: float = 0.0
    values: float = 0.0
    points: float = 0.0
    series: int = 0
    network: float = 0.0
    secured: float = 0.0
    agents: Mapping[str, AgentLoad] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()

    @property
    def sends(self) -> float:
        """Requests to the store each second; fetches share one while points gather.

        They do not add up over hosts: hosts that tick together share requests, too.
        """
        return self.fetches / (1 + _GATHER_SECONDS * self.fetches)

    def plus(self, other: "SamplingLoad", times: int = 1) -> "SamplingLoad":
        """The sum of both loads; the other one counts ``times`` times."""
        names = [*dict.fromkeys([*self.agents, *other.agents])]
        none = AgentLoad()
        return SamplingLoad(
            self.fetches + times * other.fetches,
            self.values + times * other.values,
            self.points + times * other.points,
            self.series + times * other.series,
            self.network + times * other.network,
            self.secured + times * other.secured,
            {
                name: self.agents.get(name, none).plus(
                    other.agents.get(name, none), times
                )
                for name in names
            },
            self.unknown | other.unknown,
        )

    def terms(self, part: str) -> tuple[float, ...]:
        """The values that the CPU of a part depends on, in the order of `terms_of`."""
        if part in _TERMS:
            return tuple(getattr(self, name) for name in _TERMS[part])
        load = self.agents.get(part, AgentLoad())
        return tuple(getattr(load, name) for name in _AGENT_TERMS)


def terms_of(part: str) -> tuple[str, ...]:
    """The names of the quantities that the CPU of a part depends on, per second."""
    return _TERMS.get(part, _AGENT_TERMS)


def load_of(plan: SamplingPlan, sizes: Mapping[str, FetchSize]) -> SamplingLoad:
    """The load of a host's plan; one fetch for each period, as the bridge does.

    PMU events come from a separate PMCD, in separate fetches.
    """
    load = SamplingLoad()
    for part in split_plan(plan, is_counter):
        for period_ms, group in part.groups().items():
            load = load.plus(_of_group(group, 1000 / period_ms, sizes))
    return load


def _of_group(
    group: FetchGroup, rate: float, sizes: Mapping[str, FetchSize]
) -> SamplingLoad:
    known = {name: sizes[name] for name in group.names if name in sizes}
    fetched = {name: size for name, size in known.items() if not is_local(name)}
    chosen = [
        _chosen(size.values, group.choices.get(name)) for name, size in known.items()
    ]
    fetch = FetchBytes.of(size.values for size in fetched.values())
    return SamplingLoad(
        rate if fetched else 0.0,
        rate * sum(size.values for size in fetched.values()),
        rate * sum(chosen),
        sum(chosen),
        rate * fetch.bare if fetched else 0.0,
        rate * fetch.secured if fetched else 0.0,
        _agents(fetched, rate),
        frozenset(group.names.keys() - known.keys()),
    )


def _chosen(values: int, choice: InstanceSelection | None) -> int:
    if choice is None:
        return values
    return max(values - len(choice.but), 0) if choice.only is None else len(choice.only)


def _agents(fetched: Mapping[str, FetchSize], rate: float) -> dict[str, AgentLoad]:
    by_agent: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for name, size in fetched.items():
        by_agent[size.agent].append((name, size.values))
    return {
        agent: AgentLoad(
            rate, rate * _reads(metrics), rate * sum(values for _, values in metrics)
        )
        for agent, metrics in by_agent.items()
    }


def _reads(metrics: Iterable[tuple[str, int]]) -> int:
    families: dict[str, int] = defaultdict(int)
    for name, values in metrics:
        family = ".".join(name.split(".")[:2])
        families[family] = max(families[family], values)
    return sum(families.values())
