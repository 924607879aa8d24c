"""The regions of a run, from what its recorder measured in each thread."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from observations.recorder_sources import recorder_sources

_NANO = 1e-9
_RECORDER = Path(__file__).parent / "recorder"
_USER_ONLY = (
    "events were counted in user mode only: kernel.perf_event_paranoid forbids the rest"
)
_NOT_READ = "the run ended before its regions were read"
_NEVER = "{} never had a counter: too many were requested"
_NOT_COUNTED = "{} was not counted"


@dataclass(frozen=True)
class EventCount:
    """How often an event occurred in a region, or the reason why that is unknown.

    ``dutycycle`` is the share of the time with a counter; below 1 the value is an
    estimate.
    """

    event: str
    value: float | None = None
    dutycycle: float = 1.0
    reason: str = ""


@dataclass(frozen=True)
class RegionTimes:
    """What one thread did in a region; times include those of the regions within it.

    ``cpu`` is None for regions that were written into the pipe. ``counts`` has value,
    enabled and running time of each event. ``rank`` is the number of the process if it
    has no rank.
    """

    rank: int
    thread: int
    entries: int
    seconds: float
    cpu: float | None
    counts: Sequence[Sequence[int]] = ()


@dataclass(frozen=True)
class Region:
    """A region, with the position of the region around it; -1 outside all others."""

    name: str
    parent: int
    path: str
    times: tuple[RegionTimes, ...] = ()

    @property
    def entries(self) -> int:
        """How often all threads entered it."""
        return sum(one.entries for one in self.times)

    @property
    def seconds(self) -> float:
        """The time of the thread that spent the longest in it."""
        return max((one.seconds for one in self.times), default=0.0)

    @property
    def cpu(self) -> float | None:
        """The CPU time of all threads in it; None if it is unknown."""
        known = [one.cpu for one in self.times if one.cpu is not None]
        return sum(known) if len(known) == len(self.times) else None


@dataclass(frozen=True)
class RegionRecord:
    """All regions of a run; ``missing`` are the reasons for what was not recorded.

    ``events`` has the reason for each counted event, which is empty if it was counted.
    ``omitted`` regions had no space, ``unbalanced`` ends no beginning, ``unfinished``
    regions no end, and ``unreadable`` lines neither.
    """

    regions: tuple[Region, ...] = ()
    missing: tuple[str, ...] = ()
    events: Mapping[str, str] = field(default_factory=dict)
    omitted: int = 0
    unbalanced: int = 0
    unfinished: int = 0
    unreadable: int = 0

    def counts(self, region: Region) -> list[EventCount]:
        """Return how often each event occurred in a region."""
        return [
            _count(name, reason, [one.counts[at : at + 1] for one in region.times])
            for at, (name, reason) in enumerate(self.events.items())
        ]


def sources() -> dict[str, str]:
    """Return the C files of the recorder by name."""
    return recorder_sources(_RECORDER)


def not_recorded() -> RegionRecord:
    """Return the record of a run that ended before its regions were read."""
    return RegionRecord(missing=(_NOT_READ,))


def regions_of(event: Mapping[str, Any]) -> RegionRecord:
    """Return the regions in a runner's event, in the order of their first entry."""
    times: dict[int, list[RegionTimes]] = {}
    for thread in event["threads"]:
        for number, *measured in thread["times"]:
            times.setdefault(number, []).append(_times(thread, *measured))
    paths: list[str] = []
    regions = []
    for number, (parent, name) in enumerate(event["regions"]):
        paths.append(f"{paths[parent]} / {name}" if parent >= 0 else name)
        found = tuple(times.get(number, ()))
        regions.append(Region(name, parent, paths[-1], found))
    return RegionRecord(
        tuple(regions),
        tuple(_missing(event)),
        {one["name"]: one["reason"] for one in event["events"]},
        event["omitted"],
        event["unbalanced"],
        event["unfinished"],
        event["unreadable"],
    )


def _missing(event: Mapping[str, Any]) -> Iterator[str]:
    yield from event["reasons"]
    if event["user_only"]:
        yield _USER_ONLY


def _times(
    thread: Mapping[str, Any],
    entries: int,
    ns: int,
    cpu: int | None,
    counts: Sequence[Sequence[int]],
) -> RegionTimes:
    rank = thread["process"] if thread["rank"] < 0 else thread["rank"]
    seconds = None if cpu is None else cpu * _NANO
    return RegionTimes(rank, thread["thread"], entries, ns * _NANO, seconds, counts)


def _count(
    event: str, reason: str, threads: Sequence[Sequence[Sequence[int]]]
) -> EventCount:
    """Add the counts of the threads, each scaled to the time that it was enabled."""
    if reason:
        return EventCount(event, reason=reason)
    counts = [one for thread in threads for one in thread]
    if len(counts) < len(threads) or not any(enabled for _, enabled, _ in counts):
        return EventCount(event, reason=_NOT_COUNTED.format(event))
    if any(enabled and not running for _, enabled, running in counts):
        return EventCount(event, reason=_NEVER.format(event))
    value = sum(v * enabled / running for v, enabled, running in counts if running)
    share = sum(r for *_, r in counts) / sum(enabled for _, enabled, _ in counts)
    return EventCount(event, value, min(share, 1.0))
