"""The metrics of probes: one instance for each probe, or for each of its buckets."""

from sampling.sources.own_metrics import OwnMetric

PREFIX = "supertwin.probe."
# Not agents of PCP: their numbers end at 511.
PROBES, BUCKETS = "514.0", "514.1"
_NUMBER, _FIRST_NS = 32, 128  # as in probes.h
# Upper bounds of the buckets of a histogram (ns); the last has none.
BOUNDS = (*(str(_FIRST_NS << n) for n in range(_NUMBER - 1)), "Inf")


def _metric(name: str, units: str, help_: str, domain: str = PROBES) -> OwnMetric:
    return OwnMetric(PREFIX + name, "u64", "counter", units, domain, help_)


CALLS = _metric("calls", "count", "calls of a probed function or event")
TIMED = _metric("timed", "count", "calls whose time was measured")
TIME = _metric("time", "nanosec", "time from begin to end of the timed calls")
SHED = _metric("shed", "count", "calls that were not timed, as there were too many")
MISSED = _metric("missed", "count", "begins or ends of calls without the other")
LATENCY = _metric(
    "latency", "count", "timed calls by the upper bound of their time in ns", BUCKETS
)
PROBE_METRICS = (CALLS, TIMED, TIME, SHED, MISSED, LATENCY)


def bucket_instance(probe: str, bound: str) -> str:
    """The instance of a bucket, such as ``send:le=2048``."""
    return f"{probe}:le={bound}"


def probe_of(instance: str) -> str:
    """The probe of an instance of either domain."""
    return instance.partition(":")[0]
