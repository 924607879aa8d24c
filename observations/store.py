"""Writes observations to the graph store, each in its own graph."""

from core.stores.endpoint import Endpoint
from ingest.entailed import with_entailed
from ingest.shape_check import first_fault
from ingest.triples import Triples, insertion
from observations.describe import describe_observation
from observations.errors import NotRecordedError
from observations.machine import signs_of_host
from observations.record import Observation
from ontology.iris import Iris
from ontology.terms import ST


def keep_observation(observation: Observation, twin: Endpoint, iris: Iris) -> None:
    """Write an observation; raises NotRecordedError if it violates the shapes."""
    triples = describe_observation(observation, iris)
    signs = signs_of_host(twin, iris.host(observation.spec.host))
    triples.link(iris.observation(observation.id), {ST.hostSign: signs})
    check_shapes(triples, twin)
    graphs = {iris.observation_graph(observation.id): triples}
    twin.update(insertion(with_entailed(graphs, iris)))


def check_shapes(triples: Triples, twin: Endpoint) -> None:
    """Raise NotRecordedError if triples violate the shapes."""
    if fault := first_fault(triples, twin):
        raise NotRecordedError(f"it violates the shapes ({fault}): report this defect")
