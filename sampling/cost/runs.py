"""The designed set of runs that measures a machine.

The runs vary metrics, instances and period separately for each agent, so that the costs
of a fetch, of a file that an agent reads, and of a value can be separated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sampling.cost.load import COUNTERS, UNKNOWN_AGENT, FetchSize
from sampling.plan_file.monitor import load_monitor, plan_names

_ONE, _MANY, _WIDE = 1, 300, 40
_SAME_FILE = ("utime", "stime", "minflt", "vsize", "rss", "threads")
_OWN_FILES = (
    *("proc.psinfo.utime", "proc.memory.size", "proc.schedstat.cpu_time"),
    *("proc.io.rchar", "proc.id.uid", "proc.psinfo.vctxsw"),
)
# A process takes about 50 µs per fetch: with more processes, periods are longer.
_FAST_MS = ((250, 100), (1200, 500))
_SLOWEST_MS = 1000
# Agents that are not measured as "other agents".
_APART = frozenset({"linux", "proc", COUNTERS, "root", "pmcd", UNKNOWN_AGENT})
# Metrics of one event: its value and its dutycycle.
_ONE_EVENT = 2


@dataclass(frozen=True)
class FetchRequest:
    """Metrics at a period in ms, with all their instances or one."""

    metrics: tuple[str, ...]
    period_ms: int
    instance: str | None = None


@dataclass(frozen=True)
class SamplingRun:
    """What is sampled at the same time."""

    title: str
    requests: tuple[FetchRequest, ...]


def designed_runs(
    sizes: Mapping[str, FetchSize], process: str | None
) -> list[SamplingRun]:
    """The runs for a machine with these metrics; ``process`` names an instance.

    Idle runs come first and last. Memory only grows, so runs with more series come
    late.
    """
    linux = [name for name, size in sizes.items() if size.agent == "linux"]
    single = [name for name in linux if sizes[name].values == _ONE]
    monitor = plan_names(load_monitor(), linux)
    percpu = [name for name in linux if name.startswith("kernel.percpu.cpu.")]
    same = [name for end in _SAME_FILE if (name := f"proc.psinfo.{end}") in sizes]
    files = [name for name in _OWN_FILES if name in sizes]
    most = max((sizes[name].values for name in same), default=0)
    fast = next((ms for count, ms in _FAST_MS if most <= count), _SLOWEST_MS)
    wide = [n for n, s in sizes.items() if s.agent == "proc" and s.values > most / 2]
    others = [n for n, s in sizes.items() if s.agent not in _APART]
    counters = [name for name, size in sizes.items() if size.agent == COUNTERS]
    one = process or ""
    plans: dict[str, list[tuple[Any, ...]]] = {
        "idle": [],
        "one metric, 10 ms": [(single[:1], 10)],
        "one metric, 4 ms": [(single[:1], 4)],
        "monitor set, 1 s; one of processes": [(monitor, 1000), (same[:1], 1000)],
        "monitor set, 100 ms; one file of processes": [(monitor, 100), (same, fast)],
        "monitor set, 20 ms": [(monitor, 20)],
        "CPUs, 20 ms; files of processes": [(percpu, 20), (files, 2 * fast)],
        "many metrics, 50 ms": [(single[:_MANY], 50)],
        "files of processes": [(files, fast)],
        "files of processes, one of them": [(files if one else [], fast, one)],
        "other agents; one of processes": [(others[:_MANY], 100), (same[:1], fast)],
        "other agents, 50 ms": [(others[:1], 50), (files[:1], fast // 2)],
        "PMU events, 20 ms": [(counters, 20)],
        "one PMU event, 10 ms": [(counters[:_ONE_EVENT], 10)],
        "all of processes": [(wide[:_WIDE], max(_SLOWEST_MS, 2 * fast))],
        "idle again": [],
    }
    return [
        SamplingRun(title, tuple(_asking(*plan) for plan in of if plan[0]))
        for title, of in plans.items()
        if not of or any(plan[0] for plan in of)
    ]


def _asking(
    metrics: Sequence[str], period_ms: int, instance: str | None = None
) -> FetchRequest:
    return FetchRequest(tuple(metrics), period_ms, instance)
