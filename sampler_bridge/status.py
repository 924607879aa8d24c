"""The document of a host's status file."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ontology.ids import plans_graph
from sampler_bridge.log.log import Log
from sampler_bridge.plan_watch import PlanReadStatus
from sampler_bridge.sampling.samplers import Samplers
from sampler_bridge.sending.outbox import Outbox
from sampler_bridge.sending.writer import StoreState
from sampling.account.absence import Absence
from sampling.account.cost import Cost
from sampling.account.reasons import GapCause, GapReason
from sampling.plan_file.plan import SamplingPlan
from sampling.sources.source import Gap


def status_document(
    *,
    host: str,
    base: str,
    address: str,
    started: float,
    stopped: float | None,
    reading: PlanReadStatus,
    plan: SamplingPlan,
    samplers: Samplers,
    others: Sequence[Samplers],
    figures: Mapping[str, Any],
    log: Log,
    store: StoreState,
) -> dict[str, Any]:
    """The status of one host; counts are points, ``*_ms`` Unix milliseconds."""
    reason = samplers.reason
    gaps = {name: gap for one in (samplers, *others) for name, gap in one.gaps.items()}
    return {
        "pid": os.getpid(),
        "started": iso(started),
        "stopped": None if stopped is None else iso(stopped),
        "host": host,
        "pcp": {"address": address, "connected": reason is None, "reason": reason},
        "plan": {
            "graph": plans_graph(base, host),
            "metrics": len(plan.names),
            **reading_document(reading),
        },
        **figures,
        "damaged": {
            "records": log.damaged,
            "torn_bytes": log.torn_bytes,
            "replaced": log.replaced,
        },
        "store": store._asdict(),
        "metrics": _without_values(plan, gaps),
    }


def figures(outbox: Outbox, cost: Cost, absence: Absence | None) -> dict[str, Any]:
    """All counts at one moment: expected = written + missing + queue."""
    with outbox.account.moment():
        counted = outbox.account.figures()
        queue = {
            "points": outbox.log.waiting,
            "bytes": outbox.log.size_bytes,
            "oldest_ms": outbox.log.oldest_ms,
            "reason": outbox.reason,
        }
    return {
        **counted,
        "queue": queue,
        "sent_bytes": outbox.sent_bytes,
        **cost.figures(),
        "uncounted": _uncounted(absence),
    }


def reading_document(reading: PlanReadStatus) -> dict[str, Any]:
    """When the graph was last read, and why not since."""
    return {
        "read_at": None if reading.read_at is None else iso(reading.read_at),
        "source": reading.source,
        "reason": reading.reason,
    }


def _uncounted(absence: Absence | None) -> dict[str, Any] | None:
    if absence is None:
        return None
    return {
        "since": iso(absence.since),
        "until": iso(absence.until),
        "seconds": absence.seconds,
        "points": absence.points,
        "reason": absence.reason,
    }


def _without_values(
    plan: SamplingPlan, gaps: Mapping[str, Gap]
) -> dict[str, dict[str, str]]:
    causes = {metric: gap.cause for metric, gap in gaps.items()}
    for metric, detail in plan.refused.items():
        causes[metric] = GapCause(GapReason.OTHER, detail)
    return {
        metric: {"reason": cause.reason.value, "detail": cause.detail}
        for metric, cause in sorted(causes.items())
    }


def iso(seconds: float) -> str:
    """A time as text, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
