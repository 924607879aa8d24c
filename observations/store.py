"""Observations in the graph store, each in a graph of its own."""

from collections import defaultdict
from collections.abc import Iterable

from rdflib import Graph, URIRef
from rdflib.term import Node

from ingest.triples import Triples, insertion
from observations.describe import describe_observation
from observations.errors import ObservationError
from observations.record import Observation
from ontology.iris import Iris
from queries.endpoint import Endpoint
from shapes.validate import Elsewhere, validate
from shapes.wording import short


def keep_observation(observation: Observation, twin: Endpoint, iris: Iris) -> None:
    """Write an observation; raises ObservationError for what the shapes refuse."""
    triples = describe_observation(observation, iris)
    _check_shapes(triples, twin)
    twin.update(insertion({iris.observation_graph(observation.id): triples}))


def _check_shapes(triples: Triples, twin: Endpoint) -> None:
    """Host, threads and metrics stand in the store: of them the classes are read."""
    own = {subject for subject, _, _ in triples}
    classes = _classes({o for _, _, o in triples if isinstance(o, URIRef)} - own, twin)
    held: dict[Node, set[Node]] = defaultdict(set)
    for node, _, class_ in classes:
        held[class_].add(node)
    report = validate(triples, Elsewhere(held, lambda: classes))
    named = tuple(f"{short(subject)} " for subject in own)
    faults = [line for line in report.lines if line.startswith(named)]
    if faults:
        raise ObservationError(f"the run cannot be recorded as it is: {faults[0]}")


def _classes(nodes: Iterable[URIRef], twin: Endpoint) -> Graph:
    values = " ".join(f"<{node}>" for node in nodes)
    return twin.construct(
        f"CONSTRUCT {{ ?s a ?c }} {{ VALUES ?s {{ {values} }} ?s a ?c }}"
    )
