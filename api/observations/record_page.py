"""The page of a recorded run."""

import asyncio
import signal
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

from fastapi import Request, Response
from rdflib import Graph, URIRef
from rdflib.namespace import PROV, RDFS

from api import nodes
from api.explorer.facts import Fact, find_facts
from api.nodes import Node
from api.observations.derived import find_derived
from api.observations.efficiency import ParallelEfficiency, find_efficiency
from api.observations.figures import duration
from api.observations.file_io import ShownIo, find_io
from api.observations.hot_loops import LoopRow, find_loops
from api.observations.measured import FIGURES, MeasuredSeries, find_measured
from api.observations.permissions import view_refusal
from api.observations.pinned import find_pinned, name_of
from api.observations.profile import ShownProfile, find_profiles
from api.observations.regions import ShownRegions, find_regions
from api.observations.stored_files import has_kept, has_program
from api.services import Services
from api.web import pages
from api.web.pages import Links, RenderedTerm
from dashboards.spec import Panel, PanelSeries, Section
from ontology.terms import ST

# Shown at the top of the page or in separate sections.
_ELSEWHERE = frozenset(
    (
        ST.command,
        ST.argumentVector,
        ST.ofHost,
        ST.ranOn,
        ST.hostSign,
        ST.outcome,
        ST.errorCode,
        ST.exitStatus,
        ST.endSignal,
        ST.duration,
        ST.observationTag,
        ST.involvesThread,
        ST.threadCount,
        ST.pinningPolicy,
        ST.runGroup,
        ST.repetition,
        ST.observes,
        ST.observesSoftware,
        ST.observesHardware,
        ST.hasSummary,
        ST.hasFigure,
        ST.hasParallelAnalysis,
        ST.hasLoopAnalysis,
        ST.hasProfile,
        ST.hasRegion,
        ST.hasRegionRecord,
        ST.hasIoRecord,
        ST.ranIn,
    )
)
_REQUESTED = frozenset(
    (
        ST.workingDirectory,
        ST.requestedMetric,
        ST.requestedRole,
        ST.requestedEvent,
        ST.observationPeriod,
        ST.requestedRuns,
        ST.addedVariable,
        ST.timeLimit,
    )
)
_USED = frozenset(
    (
        ST.userTime,
        ST.systemTime,
        ST.peakResidentSize,
        ST.peakResidentSizeBound,
        ST.minorFaults,
        ST.majorFaults,
        ST.voluntarySwitches,
        ST.involuntarySwitches,
        ST.outputSize,
    )
)


async def record_page(
    request: Request, services: Services, id_: str, node: Node
) -> Response:
    """Return a run as HTML: the request, the outcome and the measurements."""
    links = pages.links(request, services.settings.base)
    host = _text(node.graph, node.iri, ST.ofHost)
    about, measured, derived, recorded, pinned, may_not = await asyncio.gather(
        _surroundings(services, node, links),
        find_measured(services, node.iri),
        find_derived(services, str(node.iri)),
        _recorded(services, node),
        find_pinned(services, node, links),
        view_refusal(request, services),
    )
    own = _facts(node, links)
    spec = _pictures(services, measured, _span(node))
    return pages.page(
        "observation.html",
        request,
        services.settings.base,
        title=_text(node.graph, node.iri, ST.command),
        id=id_,
        iri=str(node.iri),
        path=f"/observations/{str(node.iri).rpartition('/')[2]}",
        host=RenderedTerm(name_of(host), links.href(host), host),
        run=_head(node),
        tags=sorted(map(str, node.graph.objects(node.iri, ST.observationTag))),
        requested=[fact for link, fact in own if link in _REQUESTED],
        facts=[fact for link, fact in own if link not in _USED | _REQUESTED],
        used=[fact for link, fact in own if link in _USED],
        surroundings=about,
        pinned=pinned,
        measured=measured,
        derived=derived,
        efficiency=recorded[0],
        regions=recorded[1],
        loops=recorded[2],
        file_io=recorded[3],
        profiles=recorded[4],
        figures=FIGURES,
        spec=spec,
        may_not=may_not,
        is_kept=has_kept(services.settings.home, id_),
        has_program=has_program(services.settings.home, id_),
        cut=node.cut,
        **pages.triples(node, links),
    )


async def _recorded(
    services: Services, node: Node
) -> tuple[
    ParallelEfficiency | None,
    ShownRegions | None,
    list[LoopRow],
    ShownIo | None,
    list[ShownProfile],
]:
    """Return what recorders in the command, and its samples, found."""
    iri = str(node.iri)
    return await asyncio.gather(
        find_efficiency(services, iri),
        find_regions(services, iri),
        find_loops(services, node),
        find_io(services, node),
        find_profiles(services, node),
    )


def _head(node: Node) -> dict[str, Any]:
    """Return a short summary of the outcome."""

    def text(link: URIRef) -> str:
        return _text(node.graph, node.iri, link)

    seconds = text(ST.duration)
    return {
        "outcome": text(ST.outcome) or "unknown",
        "ended": _ended(text(ST.exitStatus), text(ST.endSignal)) or text(ST.errorCode),
        "started": text(PROV.startedAtTime),
        "seconds": float(seconds) if seconds else None,
        "took": duration(float(seconds)) if seconds else "",
        "group": text(ST.runGroup),
        "repetition": text(ST.repetition),
    }


def _ended(status: str, number: str) -> str:
    if number:
        try:
            return f"by {signal.Signals(int(number)).name}"
        except ValueError:
            return f"by signal {number}"
    return f"exit status {status}" if status else ""


def _facts(node: Node, links: Links) -> list[tuple[URIRef, Fact]]:
    """Return all facts that are not shown elsewhere, with their properties."""
    properties = {
        link
        for link in node.graph.predicates(node.iri)
        if link not in _ELSEWHERE and isinstance(link, URIRef)
    }
    found = [
        (link, fact)
        for link in properties
        for fact in find_facts(_only(node, {link}), node.iri, links)
    ]
    return sorted(found, key=lambda pair: pair[1].name.text.lower())


def _only(node: Node, properties: Collection[URIRef]) -> Graph:
    """Return a node's triples of some properties, with the labels of its neighbours."""
    found = Graph()
    for link in properties:
        for triple in node.graph.triples((node.iri, link, None)):
            found.add(triple)
    for triple in node.graph.triples((None, RDFS.label, None)):
        found.add(triple)
    return found


async def _surroundings(services: Services, node: Node, links: Links) -> list[Fact]:
    about = node.graph.value(node.iri, ST.ranIn)
    if not isinstance(about, URIRef):
        return []
    found = await nodes.describe(services.graph, about)
    return find_facts(found.graph, about, links)


def _span(node: Node) -> list[float]:
    """Return seconds since the start: from a period before the run to one after."""
    seconds, period = (
        float(_text(node.graph, node.iri, link) or 1)
        for link in (ST.duration, ST.observationPeriod)
    )
    return [-period, seconds + period]


def _pictures(
    services: Services, measured: Sequence[MeasuredSeries], span: Sequence[float]
) -> dict[str, Any]:
    """Return a chart for each metric, with a line for each instance."""
    by_metric = groupby(measured, key=lambda one: one.metric)
    panels = [
        _panel(number, list(found)) for number, (_, found) in enumerate(by_metric)
    ]
    return {
        "base": services.settings.base,
        "range": span,
        "sections": [Section("Series", tuple(panels))],
    }


def _panel(number: int, found: Sequence[MeasuredSeries]) -> Panel:
    metric = found[0].metric
    return Panel(
        id=f"metric-{number}",
        title=metric.name,
        description=metric.comment,
        query="observations/statistics",
        picture="timeseries",
        unit=metric.drawn[0],
        width=12 if len(found) < 9 else 24,
        height=7,
        series=tuple(
            PanelSeries(
                one.instance or metric.name,
                one.series,
                metric.name,
                metric.db_name,
                one.instance,
                0,
            )
            for one in found
        ),
    )


def _text(graph: Graph, iri: URIRef, link: URIRef) -> str:
    value = graph.value(iri, link)
    return "" if value is None else str(value)
