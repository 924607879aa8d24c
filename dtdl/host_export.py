"""Export a host from the graph store as DTDL, without importing the loader."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from rdflib import RDF

from core.settings.settings import Settings
from core.stores.datasets import dataset
from dtdl.export import document, export
from dtdl.nodes import Triple
from dtdl.source import queries
from ontology.iris import Iris
from ontology.terms import ST
from queries.errors import UnknownHostError

_AT_ONCE = 3


def dtdl_of(settings: Settings, host: str, version: int) -> Iterator[bytes]:
    """The twin of a host as a DTDL document; raises UnknownHostError without one."""
    iris = Iris(settings.base)
    found: set[Triple] = set()
    # Fuseki works on one query while the answer to another is read.
    with dataset(settings, "twin") as twin, ThreadPoolExecutor(_AT_ONCE) as pool:
        for answer in pool.map(twin.select, queries(iris, host)):
            # The graph of a host has neither blank nodes nor literals as subjects.
            found.update((s, p, o) for s, p, o in answer.rows)  # type: ignore[misc]
    if (iris.host(host), RDF.type, ST.ComputeNode) not in found:
        raise UnknownHostError(
            f"no host {host!r} in the twin: `supertwin query inventory/hosts` lists "
            "the hosts"
        )
    return document(export(found, iris.host(host), settings.base, version))
