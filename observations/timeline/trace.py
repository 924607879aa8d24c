"""Exports a run or a group of runs as a trace for https://ui.perfetto.dev."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from observations.comparison.comparing import find_runs
from observations.comparison.run_series import RunSeries, series_of
from observations.timeline import packets
from observations.timeline.counters import unit_of, values_of
from observations.timeline.packets import Track
from observations.timeline.slices import (
    ThreadSlices,
    call_slices,
    in_time_order,
    region_slices,
    rows,
)
from observations.timeline.stored_times import RunTimes, times_of
from ontology.iris import Iris
from queries.run import Row

_FACTS = ("run", "host", "outcome", "exitStatus", "policy", "threads", "repetition")


@dataclass
class Trace:
    """The timeline of runs; ``samples`` is how many samples `parts` has yielded so far.

    ``runs`` are rows of `observations/runs`, ordered by start.
    """

    settings: Settings
    runs: Sequence[Row]
    series: Mapping[str, Sequence[RunSeries]]
    samples: int = 0
    _uuids: Iterator[int] = field(default_factory=lambda: count(1))
    _tracks: dict[tuple[int, str], int] = field(default_factory=dict)

    def parts(self) -> Iterator[bytes]:
        """Yield the trace in parts of bounded size; raises SeriesError."""
        times = [times_of(self.settings.home, row) for row in self.runs]
        yield packets.start(times[0].start)
        yield from self._run_slices(times)
        yield from self._regions(times)
        yield from self._calls(times)
        yield from self._counters()

    def _track(
        self, name: str, parent: int = 0, unit: str | None = None
    ) -> Iterator[bytes]:
        """Yield the packet that describes a track, unless it was yielded before."""
        if (parent, name) not in self._tracks:
            uuid = self._tracks[parent, name] = next(self._uuids)
            yield packets.track(Track(uuid, name, parent, unit, uuid))

    def _run_slices(self, times: Sequence[RunTimes]) -> Iterator[bytes]:
        name = f"runs on {self.runs[0]['host']}"
        yield from self._track(name)
        uuid = self._tracks[0, name]
        for row, one in zip(self.runs, times, strict=True):
            yield packets.begin(uuid, one.start, _title(row), _facts(row))
            if one.command is not None and one.start <= one.command <= one.end:
                yield packets.begin(uuid, one.command, "command")
                yield packets.end(uuid, one.end)
            yield packets.end(uuid, one.end)

    def _regions(self, times: Sequence[RunTimes]) -> Iterator[bytes]:
        for one in times:
            for thread in region_slices(one.regions) if one.regions else ():
                yield from self._in("regions", thread)

    def _calls(self, times: Sequence[RunTimes]) -> Iterator[bytes]:
        for one in times:
            for thread in call_slices(one.pop) if one.pop else ():
                yield from self._in("MPI and OpenMP", thread)

    def _in(self, name: str, thread: ThreadSlices) -> Iterator[bytes]:
        yield from self._track(name)
        yield from self._thread(self._tracks[0, name], thread)

    def _thread(self, parent: int, thread: ThreadSlices) -> Iterator[bytes]:
        for number, row in enumerate(rows(thread.slices), 1):
            name = f"{thread.name}, overlapping {number}" if number > 1 else thread.name
            yield from self._track(name, parent)
            uuid = self._tracks[parent, name]
            yield b"".join(
                packets.begin(uuid, ns, one.name) if one else packets.end(uuid, ns)
                for ns, one in in_time_order(row)
            )

    def _counters(self) -> Iterator[bytes]:
        for row in self.runs:
            series = self.series.get(row["run"], ())
            if series:
                yield from self._track("samples")
                yield from self._values(self._tracks[0, "samples"], series)

    def _values(self, parent: int, series: Sequence[RunSeries]) -> Iterator[bytes]:
        for one in series:
            yield from self._track(_series_name(one), parent, unit_of(one))
        for found in values_of(self.settings, series):
            points = found.points
            self.samples += points.values.size
            uuid = self._tracks[parent, _series_name(found.series)]
            yield packets.counts(uuid, points.stamps, points.values)


def trace_of(settings: Settings, twin: Endpoint, id_: str) -> Trace:
    """Return the trace of a run or of all runs of a group; raises UnknownRunError."""
    runs = sorted(
        find_runs(twin, Iris(settings.base), id_), key=lambda row: row["started"]
    )
    found: dict[str, list[RunSeries]] = {}
    for one in series_of(twin, [str(row["run"]) for row in runs]):
        found.setdefault(one.run, []).append(one)
    return Trace(settings, runs, found)


def _title(row: Row) -> str:
    number = row["repetition"]
    return f"{number}: {row['command']}" if number else str(row["command"])


def _facts(row: Row) -> dict[str, str]:
    known = {name: row[name] for name in _FACTS if row[name] is not None}
    return {**{name: str(value) for name, value in known.items()}, "clock": "Unix time"}


def _series_name(series: RunSeries) -> str:
    instance = series.key.instance
    return series.metric if instance is None else f"{series.metric} {instance}"
