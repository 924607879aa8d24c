"""Write hosts that no dataset knows yet: as N-Quads, many in one transaction.

Fuseki loads N-Quads four times as fast as the same triples in a SPARQL Update. N-Quads
can only be added, so this works only for new hosts.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdflib import URIRef

from core.stores.endpoint import Endpoint
from ingest.entailed import with_entailed
from ingest.history.observation import probe_of_description
from ingest.history.update import first_state
from ingest.triples import Triples, quads
from ontology.iris import Iris
from ontology.terms import PROV

if TYPE_CHECKING:
    from ingest.description import Description


@dataclass(frozen=True)
class PackedHost:
    """All triples to write for a host, by dataset, as N-Quads.

    `size` is that of the twin, in triples, without what follows from them.
    """

    host: str
    twin: bytes
    history: bytes
    size: int


def graphs_of(description: "Description", iris: Iris) -> dict[URIRef, Triples]:
    """The host's own graphs with their new contents."""
    host = description.host
    return {
        iris.twin_graph(host): Triples([*description.twin, *description.probe]),
        iris.plans_graph(host): description.plans,
    }


def pack(
    description: "Description", iris: Iris, catalogues: dict[URIRef, Triples]
) -> PackedHost:
    """Pack a description for sending, with its additions to the catalogues."""
    graphs = graphs_of(description, iris) | catalogues
    host = description.host
    past = first_state(
        iris, host, probe_of_description(description), description.digest
    )
    return PackedHost(
        host,
        quads(with_entailed(graphs, iris)),
        quads({iris.history_graph(host): past}),
        sum(map(len, graphs.values())),
    )


def unknown_hosts(
    twin: Endpoint, history: Endpoint, iris: Iris, hosts: Collection[str]
) -> set[str]:
    """The hosts that neither dataset knows."""
    kinds = (iris.twin_graph, iris.plans_graph, iris.register_graph)
    graphs = {str(kind(host)): host for host in hosts for kind in kinds}
    past = {str(iris.history_graph(host)): host for host in hosts}
    standing = {graphs[graph] for graph in twin.standing(graphs)}
    return {*hosts} - standing - {past[graph] for graph in history.standing(past)}


def send(twin: Endpoint, history: Endpoint, packed: Iterable[PackedHost]) -> None:
    """Write new hosts, each completely or not at all; the history first."""
    every = list(packed)
    history.add_quads(b"".join(one.history for one in every))
    twin.add_quads(b"".join(one.twin for one in every))


def hosts_with_mixed_graphs(
    twin: Endpoint, iris: Iris, hosts: Iterable[str]
) -> set[str]:
    """The hosts that another process wrote at the same moment: they have two probes."""
    nodes = {str(iris.host(host)): host for host in hosts}
    values = " ".join(f"<{node}>" for node in nodes)
    rows = twin.select(
        f"""PREFIX prov: <{PROV}>
        SELECT ?node {{ VALUES ?node {{ {values} }} ?node prov:wasGeneratedBy ?probe }}
        GROUP BY ?node HAVING (COUNT(DISTINCT ?probe) > 1)"""
    ).values()
    return {nodes[node] for (node,) in rows}
