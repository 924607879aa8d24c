"""Why a series has no data, according to the graph: one sentence per finding."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.stores.results import TermRows

# The code of a probe that may not read PCP: SourceDeniedError in ingest.errors.
_DENIED = "source-denied"


@dataclass(frozen=True)
class MetricFacts:
    """The graph's facts about a metric on a host; ``period`` is in seconds."""

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
    probe_code: str = ""


@dataclass(frozen=True)
class Finding:
    """A verdict and its reason, one sentence."""

    verdict: str
    reason: str


def read_known(answer: TermRows) -> MetricFacts:
    """Read the first row of the saved query ``why/no-data``."""
    if not answer.rows:
        return MetricFacts()
    row = dict(zip(answer.columns, answer.values()[0], strict=True))
    return MetricFacts(
        host=bool(row["inTwin"]),
        pcp_asked=bool(row["pcpAsked"]),
        metric=bool(row["known"]),
        exposed=bool(row["exposed"]),
        has_instances=bool(row["hasInstances"]),
        instances=int(row["instances"] or 0),
        resolved_at_fetch=bool(row["resolvedAtFetch"]),
        plans=tuple(name for name in str(row["plans"] or "").split(",") if name),
        period=None if row["period"] is None else float(row["period"]),
        probe_reason=str(row["reason"] or ""),
        probe_code=str(row["errorCode"] or ""),
    )


def finding(
    known: MetricFacts, host: str, metrics: Sequence[str], instance: str | None = None
) -> Finding | None:
    """The first reason why metrics of a host have no data; None without one.

    All ``metrics`` share the facts in ``known``; the sentence names them all.
    """
    return (
        of_host(known, host)
        or _of_metrics(known, host, metrics)
        or _of_instance(known, host, metrics, instance)
        or _of_plan(known, host, metrics)
    )


def of_host(known: MetricFacts, host: str) -> Finding | None:
    """A reason that holds for every metric of a host."""
    if not known.host:
        return Finding("unknown host", f"the twin knows no host {host!r}")
    if not known.exposed and known.probe_reason:
        verdict = "no permission" if known.probe_code == _DENIED else "PCP error"
        return Finding(verdict, f"the probe could not read PCP: {known.probe_reason}")
    if not known.pcp_asked:
        reason = f"{host!r} was described without asking PCP: probe it there"
        return Finding("not exposed by host", reason)
    return None


def _of_metrics(
    known: MetricFacts, host: str, metrics: Sequence[str]
) -> Finding | None:
    if not known.metric:
        return Finding("unknown metric", f"no host has a metric {_list(metrics, 'or')}")
    if not known.exposed:
        reason = f"PCP on {host!r} does not offer {_list(metrics, 'or')}"
        return Finding("not exposed by host", reason)
    return None


def _of_instance(
    known: MetricFacts, host: str, metrics: Sequence[str], instance: str | None
) -> Finding | None:
    names = _list(metrics, "and")
    have = "has" if len(metrics) == 1 else "have"
    if instance is not None and not known.has_instances:
        reason = f"{names} {have} no instances; leave {instance!r} out"
        return Finding("unknown instance", reason)
    if known.has_instances and not known.instances and not known.resolved_at_fetch:
        named = "" if instance is None else f" {instance!r}"
        reason = f"{names} {have} no instance{named} on {host!r}"
        return Finding("unknown instance", reason)
    return None


def _of_plan(known: MetricFacts, host: str, metrics: Sequence[str]) -> Finding | None:
    if known.plans:
        return None
    reason = f"no plan samples {_list(metrics, 'or')} on {host!r}"
    return Finding("not planned", reason)


def _list(names: Sequence[str], word: str) -> str:
    """`'a', 'b' and 'c'`."""
    quoted = [repr(name) for name in names]
    if len(quoted) == 1:
        return quoted[0]
    return f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"
