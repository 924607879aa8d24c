"""What the bridge can be sampled for: its own account and cost, described as PCP's are.

No agent of PCP is behind them, and yet a plan in the graph names these metrics as
it names PCP's, and so do queries, dashboards and the account itself.
"""

from typing import NamedTuple

from sampler_bridge.cost import QUANTILES
from sampler_bridge.reasons import WORDS

PREFIX = "supertwin.bridge."
# Of no agent of PCP, whose numbers end at 511.
REASONS, SHARES = "512.0", "512.1"
DOMAINS = {REASONS: WORDS, SHARES: tuple(QUANTILES)}


class OwnMetric(NamedTuple):
    """One metric in PCP's words; ``domain`` is one of DOMAINS."""

    name: str
    type: str
    semantics: str
    units: str
    domain: str | None
    help: str


def _count(name: str, help_: str, domain: str | None = None) -> OwnMetric:
    return OwnMetric(PREFIX + name, "u64", "counter", "count", domain, help_)


def _now(name: str, type_: str, units: str, help_: str) -> OwnMetric:
    return OwnMetric(PREFIX + name, type_, "instant", units, None, help_)


def _latency(name: str, help_: str) -> OwnMetric:
    return OwnMetric(PREFIX + name, "double", "instant", "sec", SHARES, help_)


OWN_METRICS = (
    _count("points.expected", "points that the plans asked for, and those carried"),
    _count("points.fetched", "points that the sources gave"),
    _count("points.written", "points that the store acknowledged, each once"),
    _count(
        "points.missing", "points that will not reach the store, by reason", REASONS
    ),
    _count("points.resent", "points sent again to a store that was started anew"),
    _now("points.carried", "u64", "count", "points found in the log at the start"),
    _now("queue.points", "u64", "count", "points in the log that wait for the store"),
    _now("queue.bytes", "u64", "byte", "size of the log, sent points included"),
    OwnMetric(
        PREFIX + "sent.bytes",
        *("u64", "counter", "byte", None, "bytes that the store acknowledged"),
    ),
    _latency("fetch.seconds", "how long the last 1,000 fetches took"),
    _latency("write.seconds", "how long the last 1,000 writes to the store took"),
    OwnMetric(
        PREFIX + "cpu",
        *("u64", "counter", "millisec", None, "CPU time of the bridge"),
    ),
    _now("rss", "u64", "byte", "memory of the bridge that is in RAM"),
    _now("uncounted", "double", "sec", "time before its start in which nobody counted"),
)
