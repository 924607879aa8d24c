"""The metrics of a control group, the same for versions 1 and 2.

PCP has `cgroup.*` too, but with other names for each version, without pids, and, if
both versions are mounted, with nothing of version 2.
"""

from typing import NamedTuple

from core.linux.cgroups.groups import UNIFIED
from sampling.sources.own_metrics import OwnMetric

PREFIX = "supertwin.cgroup."
# Not an agent of PCP: their numbers end at 511.
DOMAIN = "513.0"


class CgroupFileKey(NamedTuple):
    """Where a value is found: controller, file, key in it, and factor of its unit."""

    controller: str
    file: str
    key: str = ""
    factor: int = 1


_MICRO = 1000  # in ns
_CPU, _ACCT, _MEMORY, _PIDS, _BLKIO = "cpu", "cpuacct", "memory", "pids", "blkio"
_BYTES = "blkio.throttle.io_service_bytes_recursive"
_COUNT = "blkio.throttle.io_serviced_recursive"


def _metric(name: str, semantics: str, units: str, help_: str) -> OwnMetric:
    return OwnMetric(PREFIX + name, "u64", semantics, units, DOMAIN, help_)


# The first place that a group has is read; without one, there is no value.
PLACES = {
    _metric("cpu.usage", "counter", "nanosec", "CPU time of its processes"): (
        CgroupFileKey(_ACCT, "cpuacct.usage"),
        CgroupFileKey(UNIFIED, "cpu.stat", "usage_usec", _MICRO),
    ),
    _metric("cpu.user", "counter", "nanosec", "CPU time in their own code"): (
        CgroupFileKey(_ACCT, "cpuacct.usage_user"),
        CgroupFileKey(UNIFIED, "cpu.stat", "user_usec", _MICRO),
    ),
    _metric("cpu.system", "counter", "nanosec", "CPU time in the kernel"): (
        CgroupFileKey(_ACCT, "cpuacct.usage_sys"),
        CgroupFileKey(UNIFIED, "cpu.stat", "system_usec", _MICRO),
    ),
    _metric("cpu.periods", "counter", "count", "periods in which it wanted to run"): (
        CgroupFileKey(_CPU, "cpu.stat", "nr_periods"),
        CgroupFileKey(UNIFIED, "cpu.stat", "nr_periods"),
    ),
    _metric("cpu.throttled", "counter", "count", "periods in which it had to wait"): (
        CgroupFileKey(_CPU, "cpu.stat", "nr_throttled"),
        CgroupFileKey(UNIFIED, "cpu.stat", "nr_throttled"),
    ),
    _metric("cpu.throttled_time", "counter", "nanosec", "time that it had to wait"): (
        CgroupFileKey(_CPU, "cpu.stat", "throttled_time"),
        CgroupFileKey(UNIFIED, "cpu.stat", "throttled_usec", _MICRO),
    ),
    _metric("memory.usage", "instant", "byte", "memory that is charged to it"): (
        CgroupFileKey(_MEMORY, "memory.usage_in_bytes"),
        CgroupFileKey(UNIFIED, "memory.current"),
    ),
    _metric("memory.peak", "instant", "byte", "the most memory that it had"): (
        CgroupFileKey(_MEMORY, "memory.max_usage_in_bytes"),
        CgroupFileKey(UNIFIED, "memory.peak"),
    ),
    _metric("memory.anon", "instant", "byte", "memory without a file"): (
        CgroupFileKey(_MEMORY, "memory.stat", "total_rss"),
        CgroupFileKey(UNIFIED, "memory.stat", "anon"),
    ),
    _metric("memory.file", "instant", "byte", "memory that caches files"): (
        CgroupFileKey(_MEMORY, "memory.stat", "total_cache"),
        CgroupFileKey(UNIFIED, "memory.stat", "file"),
    ),
    _metric("memory.faults", "counter", "count", "major page faults"): (
        CgroupFileKey(_MEMORY, "memory.stat", "total_pgmajfault"),
        CgroupFileKey(UNIFIED, "memory.stat", "pgmajfault"),
    ),
    _metric("memory.oom_kills", "counter", "count", "processes killed for memory"): (
        CgroupFileKey(_MEMORY, "memory.oom_control", "oom_kill"),
        CgroupFileKey(UNIFIED, "memory.events", "oom_kill"),
    ),
    _metric("pids.current", "instant", "count", "tasks, threads included"): (
        CgroupFileKey(_PIDS, "pids.current"),
        CgroupFileKey(UNIFIED, "pids.current"),
    ),
    _metric("io.read.bytes", "counter", "byte", "read from block devices"): (
        CgroupFileKey(_BLKIO, _BYTES, "Read"),
        CgroupFileKey(UNIFIED, "io.stat", "rbytes"),
    ),
    _metric("io.write.bytes", "counter", "byte", "written to block devices"): (
        CgroupFileKey(_BLKIO, _BYTES, "Write"),
        CgroupFileKey(UNIFIED, "io.stat", "wbytes"),
    ),
    _metric("io.read.ops", "counter", "count", "reads from block devices"): (
        CgroupFileKey(_BLKIO, _COUNT, "Read"),
        CgroupFileKey(UNIFIED, "io.stat", "rios"),
    ),
    _metric("io.write.ops", "counter", "count", "writes to block devices"): (
        CgroupFileKey(_BLKIO, _COUNT, "Write"),
        CgroupFileKey(UNIFIED, "io.stat", "wios"),
    ),
    _metric("cpu.stalled", "counter", "microsec", "time some task lacked a CPU"): (
        CgroupFileKey(UNIFIED, "cpu.pressure", "some"),
    ),
    _metric("memory.stalled", "counter", "microsec", "time some task lacked memory"): (
        CgroupFileKey(UNIFIED, "memory.pressure", "some"),
    ),
    _metric("io.stalled", "counter", "microsec", "time some task waited for devices"): (
        CgroupFileKey(UNIFIED, "io.pressure", "some"),
    ),
}
CGROUP_METRICS = tuple(PLACES)
BY_NAME = {metric.name: places for metric, places in PLACES.items()}
