"""Samples while a command runs, by a plan of its own, and summarises the results."""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cached_property

from core.settings.settings import Settings
from core.settings.state import counting_home
from core.stores.datasets import dataset
from core.stores.endpoint import Endpoint
from core.stores.http_connection import HttpConnection
from core.stores.points import NO_POINTS, Points
from core.stores.series import SeriesKey, read_points, series_reader
from ingest.errors import PlanRequestError
from observations.record import Run, RunRequest, Summary
from observations.session.counter_snapshots import (
    OF_PROCESSES,
    CounterReader,
    CounterSnapshot,
    Key,
    RunSnapshots,
)
from observations.session.run_figures import RunFigures
from observations.statistics import Statistics, of_counter, of_gauge
from ontology.limits import PER_CPU, greatest_rate, is_of_all_cpus
from queries.run import saved_rows
from sampling.agents.private_pmcd import socket_of
from sampling.events.event import is_counter, is_dutycycle
from sampling.plans import changes
from sampling.plans.request import PlanRequest
from sampling.resolution import source_resolution
from sampling.slower_sources import notes

_LOG = logging.getLogger(__name__)

_LOOK_SECONDS = 0.05
_HISTORY_MS = 10_000
# The bridge gathers for half a second before it sends.
_PATIENCE_SECONDS, _LONGEST_PERIOD_MS = 2.0, 5000


@dataclass(frozen=True)
class SampledMetric:
    """A metric from the query telemetry/one-plan; ``series`` is its store name."""

    name: str
    iri: str
    series: str
    is_counter: bool
    pcp_units: str = ""


class RunSampling:
    """The plan that samples a request's metrics, and the figures of the runs.

    A request without metrics has neither. ``notes`` tells users what they should know
    of the sources.
    """

    def __init__(self, settings: Settings, run_request: RunRequest, plan: str) -> None:
        self.notes: list[str] = []
        self._settings, self._run_request = settings, run_request
        self._spec, self._plan = run_request.spec, plan
        self._reader = CounterReader(settings.home / "bridge", self._spec.host)
        self._is_planned = False

    def start(self) -> None:
        """Add the plan; raises PlanRequestError and the errors of `changes.add`."""
        if self._run_request.samples:
            shared: list[str] = []
            # It says how long each event has a counter.
            progress = shared.append if self._spec.multiplex else _LOG.debug
            added = changes.add(
                self._settings, self._plan_request(), progress, host_is_known=True
            )
            slower = notes(added.slower_sources, self._spec.period_ms)
            self.notes = list(dict.fromkeys((*shared, *slower)))
            self.resume(metric.name for metric in added.metrics)

    def resume(self, names: Iterable[str]) -> None:
        """Continue to sample these metrics by the plan, which exists already."""
        if self._run_request.samples:
            self._is_planned = True
            bridge, host, counters = self._settings.home / "bridge", self._spec.host, ""
            if host == self._settings.host:
                counters = f"unix://{socket_of(counting_home(self._settings))}"
            self._reader = CounterReader(bridge, host, names, counters)

    def stop(self) -> None:
        """Remove the plan if there is one; raises the errors of `changes.remove`."""
        self._reader.close()
        if self._is_planned:
            with suppress(PlanRequestError):  # the plan was removed already
                changes.remove(
                    self._settings,
                    self._spec.host,
                    self._plan,
                    _LOG.debug,
                    host_is_known=True,
                )

    def _plan_request(self) -> PlanRequest:
        spec = self._spec
        return PlanRequest(
            spec.host,
            self._plan,
            spec.metrics,
            spec.period_ms,
            roles=spec.counted.roles,
            events=spec.counted.events,
            multiplex=spec.multiplex,
        )

    @cached_property
    def metrics(self) -> Sequence[SampledMetric]:
        """The metrics of the plan, read when the command runs or has run."""
        if not self._run_request.samples:
            return ()
        with dataset(self._settings, "twin") as twin:
            return _planned(twin, self._spec.host, self._plan)

    def snapshot(self) -> CounterSnapshot:
        """Read all counters now."""
        return self._reader.snapshot()

    def summaries(
        self, run: Run, snapshots: RunSnapshots, pids: Set[int]
    ) -> list[Summary]:
        """Summarise every series; of series of processes, those with these pids."""
        if not self.metrics:
            return []
        # A short run sees few updates: earlier samples show how often sources update.
        start_ms = int(run.span.start_ms) - 2 * self._spec.period_ms - _HISTORY_MS
        with closing(series_reader(self._settings)) as store:
            self._wait_for_ticks(store, run)
            series = self._read(store, start_ms)
        found = [
            self._summary(metric, key, series, run, snapshots, resolution)
            for metric in self.metrics
            for resolution in [self._resolution(metric, series)]
            for key in _keys(metric, series, snapshots, pids)
        ]
        return [one for one in found if _has_figures(one.figures)]

    @cached_property
    def figures(self) -> RunFigures:
        """The figures of the runs."""
        return RunFigures(
            self._settings,
            self._run_request,
            self._plan,
            lambda: [metric.name for metric in self.metrics],
        )

    def _summary(
        self,
        metric: SampledMetric,
        key: Key,
        series: Mapping[SeriesKey, Points],
        run: Run,
        snapshots: RunSnapshots,
        resolution: float | None,
    ) -> Summary:
        points = series.get(SeriesKey(metric.series, key[1]), NO_POINTS)
        if metric.is_counter:
            growth = snapshots.growth(key)
            cpus = self._cpus if is_of_all_cpus(metric.name) else None
            greatest = greatest_rate(metric.name, metric.pcp_units, cpus)
            figures = of_counter(points, run.span, growth, resolution, greatest)
            if snapshots.doubt_about(metric.name):
                figures = replace(figures, total=None, covered=None, mean=None)
        else:
            figures = of_gauge(points, run.span)
        if is_dutycycle(metric.name):
            figures = _with_last_share(figures, snapshots.after.values.get(key))
        share = _share_of(key, snapshots.after.values)
        return Summary(metric.name, metric.iri, key[1], figures, resolution, share)

    @cached_property
    def _cpus(self) -> int:
        """The number of the host's CPUs as PCP counts them; 0 if unknown."""
        per_cpu = {"host": self._spec.host, "metric": PER_CPU}
        with dataset(self._settings, "twin") as twin:
            rows = saved_rows(twin, "telemetry/instances", per_cpu)
        return sum(bool(row["instname"]) for row in rows)

    def _resolution(
        self, metric: SampledMetric, series: Mapping[SeriesKey, Points]
    ) -> float | None:
        """Return how often a source updates a metric, if slower than the period."""
        points = [one for key, one in series.items() if key.name == metric.series]
        found = source_resolution(
            points, metric.pcp_units, is_counter=metric.is_counter
        )
        is_slower = found is not None and 1000 * found > self._spec.period_ms
        return found if is_slower else None

    def _wait_for_ticks(self, store: HttpConnection, run: Run) -> None:
        """Wait until the last tick of the run is stored, or until a timeout."""
        period = self._spec.period_ms
        last_ms = int(run.span.end_ms) // period * period
        if last_ms < run.span.start_ms:
            return
        late = min(period, _LONGEST_PERIOD_MS) / 1000
        until = time.monotonic() + _PATIENCE_SECONDS + late
        names = {metric.series for metric in self.metrics}
        while names - self._stored_since(store, last_ms) and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)

    def _stored_since(self, store: HttpConnection, since_ms: int) -> set[str]:
        """Return the series that have a point since then."""
        found = self._read(store, since_ms).items()
        return {key.name for key, points in found if points.stamps.size}

    def _read(self, store: HttpConnection, start_ms: int) -> Mapping[SeriesKey, Points]:
        end_ms = time.time_ns() // 1_000_000 + 1000
        host = self._spec.host
        names = sorted(metric.series for metric in self.metrics)
        return read_points(store, host, names, start_ms, end_ms)


def _planned(twin: Endpoint, host: str, plan: str) -> list[SampledMetric]:
    """Return the metrics of a plan; none if there is no such plan."""
    rows = saved_rows(twin, "telemetry/one-plan", {"host": host, "plan": plan})
    found = {
        row["samplerName"]: SampledMetric(
            row["samplerName"],
            row["metric"],
            row["dbName"],
            row["semantics"] == "counter",
            row["pcpUnits"] or "",
        )
        for row in rows
    }
    return list(found.values())


def _keys(
    metric: SampledMetric,
    series: Mapping[SeriesKey, Points],
    snapshots: RunSnapshots,
    pids: Set[int],
) -> list[Key]:
    """Return the instances of a metric that have samples or counter readings."""
    ticked = {key.instance for key in series if key.name == metric.series}
    read = {
        instance for name, instance in snapshots.after.values if name == metric.name
    }
    found = ticked | read
    if metric.name.startswith(OF_PROCESSES):
        found = {one for one in found if _pid(one) in pids}
    return [(metric.name, instance) for instance in sorted(found, key=str)]


def _pid(instance: str | None) -> int | None:
    """Return the pid that the name of a process instance begins with."""
    number = (instance or "").partition(" ")[0]
    return int(number) if number.isdecimal() else None


def _with_last_share(figures: Statistics, last: float | None) -> Statistics:
    """Use the duty cycle at the end, which covers the whole time, as the median."""
    if last is None:
        return figures
    mean = last if figures.mean is None else figures.mean
    return replace(figures, median=last, mean=mean)


def _share_of(key: Key, read: Mapping[Key, float]) -> float | None:
    """Return the share of the time in which a PMU event had a counter."""
    metric, instance = key
    if not is_counter(metric) or is_dutycycle(metric):
        return None
    return read.get((f"{metric.removesuffix('.value')}.dutycycle", instance))


def _has_figures(figures: Statistics) -> bool:
    return bool(figures.samples) or (figures.total, figures.mean) != (None, None)
