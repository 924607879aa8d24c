"""Why a series has data or not: one verdict out of all that is known."""

from dataclasses import dataclass

from api.bridge import Bridge
from api.store import Sample
from queries.findings import Finding, Known, failed, finding

# A value is fresh for some periods, so that one late tick is no alarm.
_FRESH_PERIODS = 3.0
_FRESH_S = 5.0


@dataclass(frozen=True)
class Evidence:
    """Everything a verdict rests on."""

    host: str
    metric: str
    instance: str | None
    known: Known
    bridge: Bridge
    sample: Sample | None = None
    store_reason: str = ""

    @property
    def of_many(self) -> bool:
        """Whether several instances are asked for at once, so no value is the value."""
        return self.known.has_instances and self.instance is None


def judge(evidence: Evidence) -> Finding:
    """The first thing, from the graph to the store, that explains the series."""
    return (
        _of_data(evidence)
        or _of_graph(evidence)
        or _of_bridge(evidence)
        or _of_store(evidence)
    )


def _of_data(evidence: Evidence) -> Finding | None:
    sample = evidence.sample
    limit = max(_FRESH_S, _FRESH_PERIODS * (evidence.known.period or 0))
    if sample is None or sample.age > limit:
        return None
    if evidence.of_many:
        reason = f"the newest of its instances is {sample.age:g} s old; name one"
        return Finding("data", reason)
    return Finding("data", f"the last value is {sample.age:g} s old")


def _of_graph(evidence: Evidence) -> Finding | None:
    known, host, metric = evidence.known, evidence.host, evidence.metric
    found = finding(known, host, [metric], evidence.instance)
    seen = evidence.sample
    if found and seen and found.verdict == "not planned":
        reason = f"{found.reason}; its last value is {seen.age:g} s old"
        return Finding(found.verdict, reason)
    return found


def _of_bridge(evidence: Evidence) -> Finding | None:
    bridge = evidence.bridge
    if bridge.host not in ("", evidence.host):
        return None
    if not bridge.up:
        return Finding("bridge down", f"the bridge does not run: {bridge.reason}")
    if bridge.pcp_reason:
        return Finding("PMCD down", f"PMCD gives nothing: {bridge.pcp_reason}")
    said = bridge.metric_reason(evidence.metric)
    if said:
        return failed(f"PCP is asked for {evidence.metric!r}, and answers: {said}")
    return None


def _of_store(evidence: Evidence) -> Finding:
    away = evidence.store_reason or (
        "" if evidence.sample else evidence.bridge.store_reason
    )
    if away:
        return Finding("store down", f"the series store is away: {away}")
    if evidence.sample is None:
        plans = ", ".join(evidence.known.plans)
        reason = f"plan {plans} samples it, but the store has no value yet"
        return Finding("not yet sampled", reason)
    age = evidence.sample.age
    reason = f"the last value is {age:g} s old, though a plan samples it"
    return Finding("stale", reason)
