"""Why a series has data or not: one verdict out of all that is known."""

from dataclasses import dataclass

from api.bridge import Bridge
from api.store import Sample

# A value is fresh for some periods, so that one late tick is no alarm.
_FRESH_PERIODS = 3.0
_FRESH_S = 5.0


@dataclass(frozen=True)
class Known:
    """What the graph knows of a metric on a host; ``period`` is in seconds."""

    host: bool = False
    pcp_asked: bool = False
    metric: bool = False
    exposed: bool = False
    has_instances: bool = False
    instances: int = 0
    resolved_at_fetch: bool = False
    plans: tuple[str, ...] = ()
    period: float | None = None
    probe_reason: str = ""


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


@dataclass(frozen=True)
class Verdict:
    """A verdict and its reason, one sentence."""

    verdict: str
    reason: str


def judge(evidence: Evidence) -> Verdict:
    """The first thing, from the graph to the store, that explains the series."""
    return (
        _of_data(evidence)
        or _of_graph(evidence)
        or _of_bridge(evidence)
        or _of_store(evidence)
    )


def _of_data(evidence: Evidence) -> Verdict | None:
    sample = evidence.sample
    limit = max(_FRESH_S, _FRESH_PERIODS * (evidence.known.period or 0))
    if sample is None or sample.age > limit:
        return None
    if evidence.of_many:
        reason = f"the newest of its instances is {sample.age:g} s old; name one"
        return Verdict("data", reason)
    return Verdict("data", f"the last value is {sample.age:g} s old")


def _of_graph(evidence: Evidence) -> Verdict | None:
    known, metric, host = evidence.known, evidence.metric, evidence.host
    if not known.host:
        return Verdict("unknown host", f"the twin knows no host {host!r}")
    if not known.exposed and known.probe_reason:
        reason = f"the probe could not read PCP: {known.probe_reason}"
        return _permission(reason) or Verdict("PCP error", reason)
    if not known.pcp_asked:
        reason = f"{host!r} was described without asking PCP: probe it there"
        return Verdict("not exposed by host", reason)
    if not known.metric:
        return Verdict("unknown metric", f"no host has a metric {metric!r}")
    if not known.exposed:
        reason = f"PCP on {host!r} does not offer {metric!r}"
        return Verdict("not exposed by host", reason)
    return _of_instance(evidence) or _of_plan(evidence)


def _of_instance(evidence: Evidence) -> Verdict | None:
    known, instance = evidence.known, evidence.instance
    if instance is not None and not known.has_instances:
        reason = f"{evidence.metric!r} has no instances; leave {instance!r} out"
        return Verdict("unknown instance", reason)
    if known.has_instances and not known.instances and not known.resolved_at_fetch:
        asked = "" if instance is None else f" {instance!r}"
        reason = f"{evidence.metric!r} has no instance{asked} on {evidence.host!r}"
        return Verdict("unknown instance", reason)
    return None


def _of_plan(evidence: Evidence) -> Verdict | None:
    if evidence.known.plans:
        return None
    seen = evidence.sample
    since = f"; its last value is {seen.age:g} s old" if seen else ""
    reason = f"no plan samples {evidence.metric!r} on {evidence.host!r}{since}"
    return Verdict("not planned", reason)


def _of_bridge(evidence: Evidence) -> Verdict | None:
    bridge = evidence.bridge
    if bridge.host not in ("", evidence.host):
        return None
    if not bridge.up:
        return Verdict("bridge down", f"the bridge does not run: {bridge.reason}")
    if bridge.pcp_reason:
        return Verdict("PMCD down", f"PMCD gives nothing: {bridge.pcp_reason}")
    said = bridge.metric_reason(evidence.metric)
    if said:
        reason = f"PCP gave no value of {evidence.metric!r}: {said}"
        return _permission(reason) or Verdict("PCP error", reason)
    return None


def _of_store(evidence: Evidence) -> Verdict:
    away = evidence.store_reason or (
        "" if evidence.sample else evidence.bridge.store_reason
    )
    if away:
        return Verdict("store down", f"the series store is away: {away}")
    if evidence.sample is None:
        plans = ", ".join(evidence.known.plans)
        reason = f"plan {plans} samples it, but the store has no value yet"
        return Verdict("not yet sampled", reason)
    age = evidence.sample.age
    reason = f"the last value is {age:g} s old, though a plan samples it"
    return Verdict("stale", reason)


def _permission(reason: str) -> Verdict | None:
    lowered = reason.lower()
    denied = any(word in lowered for word in ("permission", "denied", "not permitted"))
    return Verdict("no permission", reason) if denied else None
