"""The parallel analysis of a run as triples."""

from collections.abc import Mapping

from rdflib import Literal, URIRef

from ingest.triples import Triples, rounded
from observations.pop.analysis import Analysis, Efficiencies
from observations.pop.times import ThreadTimes
from ontology.iris import Iris
from ontology.terms import ST

_TIMES = {
    ST.usefulTime: "useful",
    ST.barrierTime: "barrier",
    ST.idleTime: "idle",
    ST.lockTime: "lock",
    ST.forkTime: "fork",
    ST.mpiWaitTime: "mpi_wait",
    ST.mpiCallTime: "mpi_call",
}
_WHOLE = (ST.parallelEfficiency, ST.loadBalance, ST.communicationEfficiency)
_MPI = (ST.mpiParallelEfficiency, ST.mpiLoadBalance, ST.mpiCommunicationEfficiency)
_OPENMP = (
    ST.openmpParallelEfficiency,
    ST.openmpLoadBalance,
    ST.openmpCommunicationEfficiency,
)


def describe_analysis(
    triples: Triples, iris: Iris, id_: str, node: URIRef, analysis: Analysis
) -> None:
    """Add the analysis of an observation, with the times of each thread."""
    part = iris.observation_part(id_, "pop")
    triples.link(node, {ST.hasParallelAnalysis: part})
    missing = [f"{name}: {reason}" for name, reason in analysis.missing.items()]
    triples.node(part, ST.ParallelAnalysis, {ST.missingEfficiency: missing})
    if not analysis.processes:
        return
    triples.link(
        part,
        {
            ST.rankCount: len(analysis.processes),
            ST.recordedThreads: analysis.threads,
            ST.recordedTime: rounded(analysis.seconds),
            **_times(analysis.total),
            **_efficiencies(_WHOLE, analysis.whole),
            **_efficiencies(_MPI, analysis.mpi),
            **_efficiencies(_OPENMP, analysis.openmp),
        },
    )
    _describe_threads(triples, iris, id_, part, analysis)


def _describe_threads(
    triples: Triples, iris: Iris, id_: str, part: URIRef, analysis: Analysis
) -> None:
    for process in analysis.processes:
        rank = max(process.rank, 0)
        for number, times in enumerate(process.threads):
            thread = iris.observation_part(id_, "pop", str(rank), str(number))
            triples.link(part, {ST.hasThreadTimes: thread})
            about = {ST.rankNumber: rank, ST.threadNumber: number}
            triples.node(thread, ST.ThreadTimes, {**about, **_times(times)})


def _times(times: ThreadTimes) -> Mapping[URIRef, Literal]:
    return {term: rounded(getattr(times, name)) for term, name in _TIMES.items()}


def _efficiencies(
    terms: tuple[URIRef, URIRef, URIRef], found: Efficiencies | None
) -> Mapping[URIRef, Literal]:
    if found is None:
        return {}
    values = (found.parallel, found.load_balance, found.communication)
    return dict(zip(terms, map(rounded, values), strict=True))
