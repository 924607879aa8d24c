"""Writes observations to the graph store, each with the machine that it was on.

Each observation has its own graph. Digests of signs identify the machine without its
serial numbers.
"""

import hashlib

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from ingest.entailed import with_entailed
from ingest.shape_check import first_fault
from ingest.triples import Triples, insertion
from observations.describe import describe_observation
from observations.errors import NotRecordedError
from observations.record import Observation
from ontology.iris import Iris
from ontology.terms import ST

# Enough digits to tell machines of one name apart, too few to guess a sign.
_DIGITS = 8


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


def signs_of_host(twin: Endpoint, host: URIRef) -> list[str]:
    """Return the digests of the signs that the host's probes found."""
    rows = twin.select(f"SELECT ?sign {{ <{host}> <{ST.sign}> ?sign }}").values()
    return sorted({_digest(str(sign)) for (sign,) in rows})


def signs_of_runs(twin: Endpoint, host: URIRef) -> list[str]:
    """Return the digests of the machines that the host's runs were on."""
    rows = twin.select(
        "SELECT DISTINCT ?sign "
        f"{{ ?run <{ST.ofHost}> <{host}> ; <{ST.hostSign}> ?sign }}"
    ).values()
    return sorted(str(sign) for (sign,) in rows)


def _digest(sign: str) -> str:
    """Return the kind of a sign and its digest."""
    digest = hashlib.sha256(f"supertwin run {sign}".encode()).hexdigest()[:_DIGITS]
    return f"{sign.partition(':')[0]}:{digest}"
