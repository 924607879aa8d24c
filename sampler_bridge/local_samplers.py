"""Samples what the bridge reads itself, without PCP."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sampler_bridge.sampling.recorder import Recorder
from sampler_bridge.sampling.samplers import Samplers
from sampler_bridge.sources.cgroup.source import CgroupSource
from sampler_bridge.sources.cgroup.watch import CgroupWatch
from sampler_bridge.sources.local_source import LocalSource
from sampler_bridge.sources.own_source import OwnSource
from sampler_bridge.sources.probes.probe_set import ProbeSet
from sampler_bridge.sources.probes.source import ProbeSource
from sampler_bridge.sources.processes.access import ProcessAccess
from sampler_bridge.sources.processes.source import ProcessSource
from sampler_bridge.sources.processes.threads import NoThreads, ThreadSource
from sampler_bridge.sources.timed import TimedSource
from sampling.account.cost import Cost
from sampling.plan_file.plan import SamplingPlan, split_plan
from sampling.sources.local_metrics import is_local
from sampling.sources.probe_metrics import PREFIX as PROBES
from sampling.sources.source import Source
from sampling.sources.thread_metrics import PREFIX as THREADS


@dataclass(frozen=True)
class LocalAccess:
    """What the bridge can read itself: nothing by default, as on other hosts."""

    cgroups: CgroupWatch | None = None
    processes: ProcessAccess = ProcessAccess()
    probes: ProbeSet | None = None


class LocalSamplers:
    """Samples the bridge itself, control groups, processes, threads and probes.

    ``figures`` returns the bridge's own values. ``cost`` records how long processes
    take to read.
    """

    def __init__(
        self,
        host: str,
        access: LocalAccess,
        figures: Callable[[], Mapping[str, Any]],
        cost: Cost,
        recorder: Recorder,
    ) -> None:
        self._access, self._figures, self._cost = access, figures, cost
        self._own = Samplers(host, self._new_own, recorder)
        self.processes = Samplers(host, self._new_processes, recorder)
        probes = access.probes
        self._threads = Samplers(host, self._new_threads, recorder)
        self._has_threads = False
        self._probes = (
            Samplers(host, lambda _: ProbeSource(probes), recorder) if probes else None
        )

    @property
    def all(self) -> tuple[Samplers, ...]:
        """The samplers of all sources that the bridge can read."""
        processes = (self.processes,) if self._access.processes.metrics else ()
        probes = (self._probes,) if self._probes else ()
        return self._own, *processes, self._threads, *probes

    def take(self, plan: SamplingPlan) -> tuple[SamplingPlan, SamplingPlan]:
        """Sample the part of a plan that the bridge can read.

        Returns the part for processes, and the rest, which is for PCP. Raises
        StateError if no thread can be started.
        """
        own, rest = split_plan(plan, is_local)
        probes, own = split_plan(own, lambda metric: metric.startswith(PROBES))
        threads, own = split_plan(own, lambda metric: metric.startswith(THREADS))
        processes, rest = split_plan(rest, self._access.processes.serves)
        self._own.apply(own)
        self._has_threads = self._has_threads or bool(threads.names)
        if self._has_threads:
            self._threads.apply(threads)
        if self._probes:
            self._probes.apply(probes)
        if self._access.processes.metrics:
            self.processes.apply(processes)
        return processes, rest

    def stop(self, seconds: float) -> None:
        """Finish the running ticks, and end each sampler within ``seconds``."""
        for samplers in self.all:
            samplers.stop(seconds)

    def _new_own(self, _: int) -> Source:
        own, cgroups = OwnSource(self._figures), self._access.cgroups
        return LocalSource(own, CgroupSource(cgroups)) if cgroups else own

    def _new_processes(self, period_ms: int) -> Source:
        source = ProcessSource(self._access.processes.path)
        return TimedSource(source, self._cost, period_ms)

    def _new_threads(self, period_ms: int) -> Source:
        access = self._access.processes
        if not access.metrics:
            return NoThreads(access.reason)
        return TimedSource(ThreadSource(access.path), self._cost, period_ms)
