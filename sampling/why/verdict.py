"""Why a series has data or not: one verdict from all evidence."""

from dataclasses import dataclass

from core.stores.series_store import StoredSample
from ontology.figures import figures
from queries.diagnosis import Finding, MetricFacts, finding
from sampling.account.bridge_status import BridgeStatus
from sampling.account.reasons import GapReason
from sampling.sources.probe_metrics import CALLS, probe_of
from sampling.sources.probe_metrics import PREFIX as PROBE_METRICS

# A value is fresh for some periods, so that one late tick raises no alarm.
_FRESH_PERIODS = 3.0
_FRESH_S = 5.0
_OF_REASON = {
    GapReason.AGENT: "agent down",
    GapReason.DOWN: "PMCD down",
    GapReason.DENIED: "no permission",
    GapReason.LATE: "bridge behind",
    GapReason.SLOW: "bridge behind",
    GapReason.TEXTS: "too many texts",
}


@dataclass(frozen=True)
class Counter:
    """An event of a PMU model: whether the host has such a PMU, and may use it.

    ``usable`` is None if that is unknown.
    """

    pmu: str
    event: str
    present: bool
    usable: bool | None


@dataclass(frozen=True)
class CgroupSeen:
    """The last control group of a path: when it ended, and if it gives the metric."""

    ended: str
    gives: bool


@dataclass(frozen=True)
class AgentSeen:
    """The module of an agent that gives a metric on demand: why it cannot, if so.

    ``exporter`` is why an exporter was not read the last time.
    """

    agent: str
    module: str
    reason: str = ""
    url: str = ""
    running: bool = False
    exporter: str = ""

    @property
    def name(self) -> str:
        """The module in a sentence: ``oomkill of PCP's agent bpf``."""
        whole = self.module == self.agent
        of = f"PCP's agent {self.agent}"
        return of if whole else f"{self.module} of {of}"


@dataclass(frozen=True)
class Evidence:
    """Everything that a verdict is based on.

    ``near`` are names similar to an unknown one; ``counters`` are the events that a
    metric may be named after; ``duty`` is the share of time in which a counter counted;
    ``group`` is the control group of an instance; ``agent`` gives the metric on demand.
    """

    host: str
    metric: str
    instance: str | None
    known: MetricFacts
    bridge: BridgeStatus
    sample: StoredSample | None = None
    store_reason: str = ""
    near: tuple[str, ...] = ()
    counters: tuple[Counter, ...] = ()
    duty: float | None = None
    group: CgroupSeen | None = None
    agent: AgentSeen | None = None

    @property
    def covers_several(self) -> bool:
        """Whether several instances are asked for, so that there is no single value."""
        return self.known.has_instances and self.instance is None

    def is_fresh(self, sample: StoredSample) -> bool:
        """Whether a sample is from the last few periods of its plan."""
        return sample.age <= max(_FRESH_S, _FRESH_PERIODS * (self.known.period or 0))


def judge(evidence: Evidence) -> Finding:
    """The first fact, from the graph to the store, that explains the series."""
    return (
        _of_duty(evidence)
        or _of_data(evidence)
        or _of_counters(evidence)
        or _of_group(evidence)
        or _of_agent(evidence)
        or _of_probe(evidence)
        or _of_graph(evidence)
        or _of_bridge(evidence)
        or _of_store(evidence)
    )


def _of_duty(evidence: Evidence) -> Finding | None:
    """A counter that shares the PMU with others, and never got a turn."""
    if evidence.duty != 0:
        return None
    reason = f"{evidence.metric!r} never had a counter: its duty cycle is 0"
    return Finding("multiplexed", f"{reason}; remove events from the plan")


def _of_data(evidence: Evidence) -> Finding | None:
    sample = evidence.sample
    if sample is None or not evidence.is_fresh(sample):
        return None
    if evidence.covers_several:
        age = figures(sample.age)
        reason = f"the newest value of its instances is {age} s old; name an instance"
        return Finding("data", reason)
    shared = evidence.duty is not None and evidence.duty < 1
    often = f"; it counted {evidence.duty:.0%} of the time" if shared else ""
    return Finding("data", f"the last value is {figures(sample.age)} s old{often}")


def _of_counters(evidence: Evidence) -> Finding | None:
    """An event that this host's processor or kernel does not count."""
    found = evidence.counters
    if evidence.known.exposed or not found:
        return None
    here = [counter for counter in found if counter.present]
    event = found[0].event
    if not here:
        models = ", ".join(sorted({counter.pmu for counter in found}))
        reason = f"{event!r} is an event of {models}: {evidence.host!r} has no such PMU"
        return Finding("counter not on this PMU", reason)
    if all(counter.usable is False for counter in here):
        reason = f"the kernel of {evidence.host!r} offers no counter of {here[0].pmu}"
        return Finding("counter not on this PMU", f"{reason} for {event!r}")
    return None


def _of_group(evidence: Evidence) -> Finding | None:
    """A control group that is gone, or that does not give the metric."""
    group, name = evidence.group, evidence.instance
    if group is None or not evidence.known.exposed:
        return None
    if group.ended:
        return Finding("cgroup ended", f"control group {name!r} ended at {group.ended}")
    if not group.gives:
        reason = (
            f"control group {name!r} has no value of {evidence.metric!r}: it lacks the "
            "controller, or nothing was counted yet"
        )
        return Finding("no value", reason)
    return None


def _of_agent(evidence: Evidence) -> Finding | None:
    """An agent that cannot run, is not asked for, or cannot read its exporter."""
    seen, metric, host = evidence.agent, evidence.metric, evidence.host
    if seen is None:
        return None
    if seen.reason and not evidence.known.exposed:
        reason = f"{seen.name} cannot run on {host!r}: {seen.reason}"
        return Finding("agent cannot run", reason)
    if seen.exporter and evidence.known.plans:
        reason = f"exporter {seen.module} at {seen.url}: {seen.exporter}"
        return Finding("exporter down", reason)
    if not evidence.known.exposed and not seen.running:
        fix = f"`supertwin sample add --host {host} {metric} --period 1s` starts it"
        reason = (
            f"{seen.name} gives {metric!r} on {host!r} while a plan needs it: {fix}"
        )
        return Finding("not planned", reason)
    return None


def _of_probe(evidence: Evidence) -> Finding | None:
    """A probe that does not exist, is not attached, or only counts calls."""
    name = probe_of(evidence.instance or "")
    is_asked = evidence.metric.startswith(PROBE_METRICS) and name
    if not is_asked or not evidence.known.plans or not evidence.bridge.up:
        return None
    state = evidence.bridge.probes.get(name)
    if state is None:
        reason = f"no probe of {evidence.host!r} has the name {name!r}"
        return Finding("no value", f"{reason}: `supertwin probes add` makes one")
    if state != "attached":
        return Finding("no value", f"probe {name!r} is not attached: {state}")
    if evidence.metric != CALLS.name and evidence.sample is None:
        fix = "`supertwin probes add --change --latency`"
        reason = f"probe {name!r} may only count calls: {fix} times them"
        return Finding("no value", reason)
    return None


def _of_graph(evidence: Evidence) -> Finding | None:
    known, host, metric = evidence.known, evidence.host, evidence.metric
    found = finding(known, host, [metric], evidence.instance)
    seen = evidence.sample
    if found and seen and found.verdict == "not planned":
        reason = f"{found.reason} any more; its last value is {figures(seen.age)} s old"
        return Finding("plan removed", reason)
    if found and evidence.near:
        names = " or ".join(map(repr, evidence.near))
        return Finding(found.verdict, f"{found.reason}; is it {names}?")
    return found


def _of_bridge(evidence: Evidence) -> Finding | None:
    bridge = evidence.bridge
    if bridge.not_sampled:
        return Finding("host not sampled", bridge.not_sampled)
    if not bridge.up:
        return Finding("bridge down", f"the bridge does not run: {bridge.reason}")
    if bridge.pcp_reason:
        return Finding("PMCD down", f"PMCD gives no values: {bridge.pcp_reason}")
    cause = bridge.metric_cause(evidence.metric)
    verdict = _OF_REASON.get(cause.reason, "PCP error") if cause else ""
    # A late bridge lacks some ticks; a fault of the log concerns every point.
    if bridge.log_reason and verdict in ("", "bridge behind"):
        return Finding("log down", bridge.log_reason)
    if cause is None:
        return None
    reason = f"PCP was asked for {evidence.metric!r} and answered: {cause.detail}"
    return Finding(verdict, reason)


def _of_store(evidence: Evidence) -> Finding:
    store_problem = evidence.store_reason or evidence.bridge.store_reason
    if store_problem:
        reason = f"the series store is unreachable: {store_problem}"
        return Finding("store down", reason)
    bridge = evidence.bridge
    if bridge.waiting and bridge.behind_s > _FRESH_S:
        reason = (
            f"{bridge.waiting} points wait for the store in the bridge's log, for up "
            f"to {bridge.behind_s:.0f} s"
        )
        return Finding("bridge behind", reason)
    if evidence.sample is None:
        plans = ", ".join(evidence.known.plans)
        reason = f"plan {plans} samples it, but the store has no value yet"
        return Finding("not yet sampled", reason)
    age = evidence.sample.age
    reason = f"the last value is {figures(age)} s old, though a plan samples it"
    return Finding("stale", reason)
