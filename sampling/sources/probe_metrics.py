"""The metrics of probes: one instance for each probe, or for each of its buckets."""

from sampling.sources.own_metrics import OwnMetric

PREFIX = "supertwin.probe."
# Not agents of PCP: their numbers end at 511.
PROBES, BUCKETS, KEYS, ARGUMENTS = (f"514.{n}" for n in range(4))
DOMAINS = (PROBES, BUCKETS, KEYS, ARGUMENTS)
_NUMBER, _FIRST_NS, _ARGUMENTS = 32, 128, 48  # as in probes.h
# Upper bounds of the buckets of a histogram (ns); the last has none.
BOUNDS = (*(str(_FIRST_NS << n) for n in range(_NUMBER - 1)), "Inf")

# Upper bounds of the values of an argument.
ARGUMENT_BOUNDS = ("0", *(str(1 << n) for n in range(_ARGUMENTS - 2)), "Inf")
# What the instances of a probe by thread, CPU or control group name.
KEY_FIELDS = {"thread": "tid", "cpu": "cpu", "cgroup": "cgroup"}


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
ARGUMENT = _metric(
    "argument", "count", "calls by the upper bound of their argument", ARGUMENTS
)
UNREAD = _metric("unread", "count", "calls whose argument could not be read")
BY_CALLS = _metric("by.calls", "count", "calls of a thread, CPU or control group", KEYS)
BY_TIMED = _metric("by.timed", "count", "calls whose time was measured, by key", KEYS)
BY_TIME = _metric("by.time", "nanosec", "time of the timed calls, by key", KEYS)
BY_SHED = _metric("by.shed", "count", "calls that had no room for their key")
PROBE_METRICS = (
    *(CALLS, TIMED, TIME, SHED, MISSED, LATENCY, ARGUMENT, UNREAD),
    *(BY_CALLS, BY_TIMED, BY_TIME, BY_SHED),
)


def bucket_instance(probe: str, bound: str) -> str:
    """The instance of a bucket, such as ``send:le=2048``."""
    return f"{probe}:le={bound}"


def key_instance(probe: str, by: str, key: object) -> str:
    """The instance of a thread, CPU or control group, such as ``send:tid=812``."""
    return f"{probe}:{KEY_FIELDS[by]}={key}"


def probe_of(instance: str) -> str:
    """The probe of an instance of any domain."""
    return instance.partition(":")[0]
