"""The regions of a run as triples: parts of its observation."""

from collections.abc import Callable, Iterable, Mapping

from rdflib import URIRef

from ingest.triples import Triples, Value, rounded
from observations.record import DerivedFigure, Observation
from observations.regions.regions import EventCount, Region, RegionRecord, RegionTimes
from ontology.iris import Iris
from ontology.terms import ST

# More nodes would make the graph of a run too large to be shown.
_MOST_THREADS = 10_000

Properties = Mapping[URIRef, Value | Iterable[Value]]
Derive = Callable[[Triples, Iris, tuple[str, ...], URIRef, DerivedFigure], None]


def describe_regions(
    triples: Triples, iris: Iris, run: Observation, node: URIRef, derive: Derive
) -> None:
    """Add the record of a run's regions, and all regions; ``derive`` adds a figure."""
    record, id_ = run.regions or RegionRecord(), run.id
    part = iris.observation_part(id_, "regions")
    triples.link(node, {ST.hasRegionRecord: part})
    triples.node(part, ST.RegionRecord, _counted(record))
    for number, region in enumerate(record.regions):
        own = ("region", str(number))
        iri = iris.observation_part(id_, *own)
        triples.link(node, {ST.hasRegion: iri})
        around = iris.observation_part(id_, "region", str(region.parent))
        about = {ST.enclosingRegion: around if region.parent >= 0 else None}
        triples.node(iri, ST.Region, {**about, **_region(region)}, label=region.name)
        if region.times:
            for figure in run.region_figures[number]:
                derive(triples, iris, (id_, *own), iri, figure)
            for count in record.counts(region):
                if count.event in run.region_events:
                    _describe_count(triples, iris, (id_, *own), iri, count)
    _describe_threads(triples, iris, id_, record)


def _counted(record: RegionRecord) -> Properties:
    return {
        ST.missingRegions: record.missing,
        ST.omittedRegions: record.omitted,
        ST.unbalancedEnds: record.unbalanced,
        ST.unfinishedRegions: record.unfinished,
        ST.unreadableLines: record.unreadable,
    }


def _region(region: Region) -> Properties:
    return {
        ST.regionName: region.name,
        ST.regionPath: region.path,
        ST.entryCount: region.entries,
        ST.regionThreads: len(region.times),
        ST.regionTime: rounded(region.seconds),
        ST.regionThreadTime: rounded(sum(one.seconds for one in region.times)),
        ST.regionCpuTime: rounded(region.cpu),
    }


def _describe_count(
    triples: Triples, iris: Iris, path: tuple[str, ...], node: URIRef, one: EventCount
) -> None:
    part = iris.observation_part(*path, "event", one.event)
    triples.link(node, {ST.hasEventCount: part})
    about: dict[URIRef, Value] = {
        ST.countedEvent: one.event,
        ST.absentReason: one.reason,
    }
    if not one.reason:
        about[ST.countedValue] = rounded(one.value)
        about[ST.dutyCycle] = rounded(one.dutycycle)
    triples.node(part, ST.EventCount, about)


def _describe_threads(
    triples: Triples, iris: Iris, id_: str, record: RegionRecord
) -> None:
    """Add the times of each thread, those that took the longest first."""
    every = [
        (number, at, one)
        for number, region in enumerate(record.regions)
        for at, one in enumerate(region.times)
    ]
    every.sort(key=lambda item: -item[2].seconds)
    for number, at, one in every[:_MOST_THREADS]:
        region = iris.observation_part(id_, "region", str(number))
        part = iris.observation_part(id_, "region", str(number), "thread", str(at))
        triples.link(region, {ST.hasRegionTimes: part})
        triples.node(part, ST.RegionTimes, _thread(one))


def _thread(one: RegionTimes) -> Properties:
    return {
        ST.rankNumber: one.rank,
        ST.threadNumber: one.thread,
        ST.entryCount: one.entries,
        ST.regionTime: rounded(one.seconds),
        ST.regionCpuTime: rounded(one.cpu),
    }
