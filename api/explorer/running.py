"""A running process: its threads, the location of its memory, and its series."""

from dataclasses import dataclass

from rdflib import Graph, URIRef
from rdflib.namespace import RDF, RDFS

from api.explorer.series import OtherSeries
from api.web.pages import Links, RenderedTerm
from dashboards.units import drawn_unit, quantity
from ontology.terms import ST

_BYTES = drawn_unit("BYTE")[0]


@dataclass(frozen=True)
class RunningThread:
    """One thread of a process, as the operating system lists it."""

    number: int
    name: str
    state: str
    ran_on: RenderedTerm | None


@dataclass(frozen=True)
class RunningProcess:
    """What only processes have; ``host`` is where it runs."""

    host: RenderedTerm
    tasks: tuple[RunningThread, ...]
    placements: tuple[tuple[RenderedTerm, str], ...]
    series: tuple[OtherSeries, ...]


def find_running(graph: Graph, iri: URIRef, links: Links) -> RunningProcess | None:
    """Return the process's details; None if the node is not a process."""
    host = graph.value(iri, ST.isPartOf)
    if (iri, RDF.type, ST.Process) not in graph or not isinstance(host, URIRef):
        return None
    return RunningProcess(
        _place(host, links),
        tuple(sorted(_tasks(graph, iri, links), key=lambda task: task.number)),
        tuple(sorted(_placements(graph, iri, links), key=lambda one: one[0].title)),
        tuple(sorted(_series(graph, iri), key=lambda one: one.name)),
    )


def _tasks(graph: Graph, iri: URIRef, links: Links) -> list[RunningThread]:
    return [
        RunningThread(
            int(str(graph.value(task, ST.threadId))),
            str(graph.value(task, RDFS.label) or ""),
            str(graph.value(task, ST.runState) or ""),
            _place(cpu, links) if (cpu := graph.value(task, ST.lastRanOn)) else None,
        )
        for task in graph.subjects(ST.threadOf, iri)
    ]


def _placements(
    graph: Graph, iri: URIRef, links: Links
) -> list[tuple[RenderedTerm, str]]:
    return [
        (
            _place(graph.value(placed, ST.placedIn), links),
            quantity(float(str(graph.value(placed, ST.residentSize))), _BYTES),
        )
        for placed in graph.objects(iri, ST.hasPlacement)
    ]


def _series(graph: Graph, iri: URIRef) -> list[OtherSeries]:
    return [
        OtherSeries(
            str(graph.value(series, ST.samplerName)),
            str(graph.value(series, ST.instname)),
            str(series),
            "",
        )
        for series in graph.subjects(ST.ofComponent, iri)
    ]


def _place(iri: object, links: Links) -> RenderedTerm:
    """Show ``0`` for ``…/thread/0``."""
    text = str(iri)
    return RenderedTerm(text.rpartition("/")[2], links.href(text), text)
