"""Every host in the graph, and the error for an unknown one."""

from contextlib import suppress

from rdflib import Graph
from rdflib.namespace import RDF, RDFS

from core.errors import ApiError, api_error
from core.stores.clients import Clients
from core.stores.fuseki import GraphStore
from ontology.iris import IdError, stated
from ontology.terms import ST
from queries.errors import UnknownHostError
from queries.natural_order import natural
from queries.terms import iri_term, term

_HOST_FACTS = (
    RDF.type,
    RDFS.label,
    ST.hostname,
    ST.osName,
    ST.kernelRelease,
    ST.architecture,
    ST.cpuModel,
    ST.memorySize,
)


async def known_hosts(store: GraphStore) -> Graph:
    """Read every host with the facts that distinguish it from the others."""
    graph, _ = await hosts_on_page(store)
    return graph


async def hosts_on_page(
    store: GraphStore, limit: int | None = None, offset: int = 0
) -> tuple[Graph, bool]:
    """Read as many hosts, in the order of their IRIs, and whether others follow."""
    graph, hosts = Graph(), f"?s a {iri_term(ST.ComputeNode)}"
    is_followed = False
    if limit is not None or offset:
        # One more shows whether others follow.
        most = "" if limit is None else f" LIMIT {limit + 1}"
        part = f"ORDER BY ?s OFFSET {offset}{most}"
        rows = await store.rows(f"SELECT DISTINCT ?s {{ {hosts} }} {part}")
        is_followed = limit is not None and len(rows) > limit
        # Not as a subquery: Fuseki would join it with all triples of all graphs.
        shown = " ".join(iri_term(row["s"].value) for row in rows[:limit])
        hosts = f"VALUES ?s {{ {shown} }}"
    facts = " ".join(iri_term(fact) for fact in _HOST_FACTS)
    for row in await store.rows(
        f"SELECT DISTINCT ?s ?p ?o {{ VALUES ?p {{ {facts} }} "
        f"{hosts} . {stated('?s ?p ?o')} }}"
    ):
        graph.add((term(row["s"]), term(row["p"]), term(row["o"])))
    return graph, is_followed


async def check_host(clients: Clients, host: str) -> None:
    """Raise ApiError for a host that has no twin."""
    with suppress(IdError):
        node = iri_term(clients.iris.host(host))
        is_known = f"SELECT * {{ {node} a {iri_term(ST.ComputeNode)} }}"
        if await clients.graph.rows(is_known):
            return
    raise unknown_host(host, await known_hosts(clients.graph))


def unknown_host(host: str, known: Graph) -> ApiError:
    """A 404 error for a host that is not in the twin; it lists the known hosts."""
    names = sorted(map(str, known.objects(None, ST.hostname)), key=natural)
    shown = ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
    detail = f"no host {host[:100]!r}; known: {shown or 'none, run `supertwin ingest`'}"
    return api_error(UnknownHostError(detail))
