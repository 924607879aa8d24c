"""The accuracy of PMU events: measured counts compared with known ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rdflib import PROV, XSD, Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.entailed import drop, with_entailed
from ingest.triples import Triples, insertion
from observations.store import check_shapes
from ontology.iris import Iris
from ontology.terms import ST


@dataclass(frozen=True)
class AccuracyPair:
    """What a run executed and what an event counted in it; ``run`` is its IRI."""

    run: str
    expected: float
    measured: float


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of an event of a PMU model for one kernel, over all runs of it.

    ``error`` is the mean of the runs' relative errors, as absolute values.
    """

    pmu: str
    event: str
    role: str
    kernel: str
    expected: float
    measured: float
    error: float
    runs: tuple[str, ...]


def accuracy_of(
    pmu: str, event: str, role: str, kernel: str, pairs: Sequence[AccuracyPair]
) -> Accuracy | None:
    """Compute the accuracy of an event; None if no pair has anything to count."""
    known = [pair for pair in pairs if pair.expected]
    if not known:
        return None
    errors = [abs(one.measured - one.expected) / one.expected for one in known]
    return Accuracy(
        *(pmu, event, role, kernel),
        expected=sum(one.expected for one in known) / len(known),
        measured=sum(one.measured for one in known) / len(known),
        error=sum(errors) / len(errors),
        runs=tuple(one.run for one in known),
    )


def keep_accuracy(
    host: str, found: Iterable[Accuracy], at: datetime, twin: Endpoint, iris: Iris
) -> None:
    """Replace the stored accuracies of a host's events; raises ObservationError."""
    triples = describe_accuracy(host, found, at, iris)
    check_shapes(triples, twin)
    graph = iris.accuracy_graph(host)
    written = insertion(with_entailed({graph: triples}, iris))
    twin.update(f"{drop(iris, graph)} ;\n{written}")


def describe_accuracy(
    host: str, found: Iterable[Accuracy], at: datetime, iris: Iris
) -> Triples:
    """Return the triples of a host's graph of accuracies."""
    triples = Triples()
    time = Literal(at.isoformat(timespec="seconds"), datatype=XSD.dateTime)
    for one in found:
        triples.node(
            iris.accuracy(host, one.pmu, one.event, one.kernel),
            ST.EventAccuracy,
            {
                ST.ofEvent: iris.pmu_event(one.pmu, one.event),
                ST.ofHost: iris.host(host),
                ST.fromRole: iris.role(one.role),
                ST.benchmarkKernel: one.kernel,
                ST.expectedValue: round(one.expected, 3),
                ST.measuredValue: round(one.measured, 3),
                ST.relativeError: float(f"{one.error:.6g}"),
                PROV.generatedAtTime: time,
                PROV.wasGeneratedBy: map(URIRef, one.runs),
            },
        )
    return triples
