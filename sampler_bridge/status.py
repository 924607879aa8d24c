"""What the bridge says about itself: the document of its status file."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ontology.iris import Iris
from sampler_bridge.absence import Absence
from sampler_bridge.account import Account
from sampler_bridge.cost import Cost
from sampler_bridge.graph_plan import Reading
from sampler_bridge.log import Log
from sampler_bridge.samplers import Samplers
from sampler_bridge.source import Gap
from sampler_bridge.writer import StoreState


def status_document(
    *,
    host: str,
    base: str,
    pcp: str,
    started: float,
    stopped: float | None,
    reading: Reading,
    samplers: Samplers,
    others: Sequence[Samplers],
    figures: Mapping[str, Any],
    log: Log,
    store: StoreState,
) -> dict[str, Any]:
    """The status as JSON; counts are points, ``*_ms`` Unix milliseconds."""
    reason = samplers.reason
    gaps = {name: gap for one in (samplers, *others) for name, gap in one.gaps.items()}
    return {
        "pid": os.getpid(),
        "started": _iso(started),
        "stopped": None if stopped is None else _iso(stopped),
        "host": host,
        "pcp": {"address": pcp, "connected": reason is None, "reason": reason},
        "plan": _plan(reading, Iris(base).plans_graph(host)),
        **figures,
        "damaged": {"records": log.damaged, "torn_bytes": log.torn_bytes},
        "store": store._asdict(),
        "metrics": _without_values(reading, gaps),
    }


def figures(
    account: Account, log: Log, cost: Cost, absence: Absence | None
) -> dict[str, Any]:
    """What is counted, of one moment: expected = written + missing + queue."""
    with account.moment():
        counted = account.figures()
        queue = {"points": log.waiting, "bytes": log.size_bytes}
    return {
        **counted,
        "queue": queue,
        **cost.figures(),
        "uncounted": _uncounted(absence),
    }


def _uncounted(absence: Absence | None) -> dict[str, Any] | None:
    if absence is None:
        return None
    return {
        "since": _iso(absence.since),
        "until": _iso(absence.until),
        "seconds": absence.seconds,
        "points": absence.points,
        "reason": absence.reason,
    }


def _plan(reading: Reading, graph: str) -> dict[str, Any]:
    return {
        "graph": graph,
        "read_at": None if reading.read_at is None else _iso(reading.read_at),
        "metrics": len(reading.plan.names),
        "source": reading.source,
        "reason": reading.reason,
    }


def _without_values(
    reading: Reading, gaps: Mapping[str, Gap]
) -> dict[str, dict[str, str]]:
    reasons = {metric: gap.reason for metric, gap in gaps.items()}
    reasons |= reading.plan.refused
    return {metric: {"reason": reasons[metric]} for metric in sorted(reasons)}


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
