"""The metrics of the bridge itself: account and cost, described like PCP's metrics.

The account, fetches and ticks are those of one host. The process samples all hosts, so
its cost and its writes are reported for each host alike. No agent of PCP provides these
metrics, but plans, queries, dashboards and the account itself name them like PCP's.
"""

from typing import NamedTuple

from sampling.account.cost import OFFSETS, QUANTILES
from sampling.account.reasons import WORDS

PREFIX = "supertwin.bridge."
# Not agents of PCP: their numbers end at 511.
REASONS, SHARES, STEPS = "512.0", "512.1", "512.2"
DOMAINS = {
    REASONS: WORDS,
    SHARES: tuple(QUANTILES),
    STEPS: ("last", *OFFSETS),
}


class OwnMetric(NamedTuple):
    """One metric in PCP's terms; ``domain`` is one of DOMAINS."""

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


def _seconds(name: str, help_: str, domain: str | None = None) -> OwnMetric:
    return OwnMetric(PREFIX + name, "double", "instant", "sec", domain, help_)


OWN_METRICS = (
    _count("points.expected", "points that the plans asked for, and those carried"),
    _count("points.fetched", "points that the sources gave"),
    _count("points.written", "points that the store acknowledged, each once"),
    _count(
        "points.missing", "points that will not reach the store, by reason", REASONS
    ),
    _count("points.resent", "points sent again to a store that was restarted"),
    _now("points.carried", "u64", "count", "points found in the log at the start"),
    _now("queue.points", "u64", "count", "points in the log that wait for the store"),
    _now("queue.bytes", "u64", "byte", "size of the log, sent points included"),
    OwnMetric(
        PREFIX + "sent.bytes",
        *("u64", "counter", "byte", None, "bytes that the store acknowledged"),
    ),
    _seconds("fetch.seconds", "how long the last 1,000 fetches took", SHARES),
    _seconds(
        "write.seconds",
        "how long the last 1,000 writes to the store took, of all hosts' points",
        SHARES,
    ),
    _seconds(
        "tick.offset",
        "how far from its tick the last fetch began, and the last 1,000",
        STEPS,
    ),
    _seconds(
        "tick.spread", "how far apart the last fetches of all hosts began, off the tick"
    ),
    _seconds("clock.ahead", "how far the host's clock is ahead of the bridge's"),
    _seconds("clock.uncertainty", "by how much clock.ahead may be wrong"),
    OwnMetric(
        PREFIX + "cpu",
        *(
            "u64",
            "counter",
            "millisec",
            None,
            "CPU time of the process that samples all hosts",
        ),
    ),
    _now("rss", "u64", "byte", "memory in RAM of the process that samples all hosts"),
    _seconds("uncounted", "time before its start in which nothing was counted"),
)
