"""Publish a description to Fuseki: validate it, archive the old twin, write it.

Readers see the old twin or the new one: catalogues, twin and plans of a host go in one
request, which TDB2 runs as one transaction. A new host is sent as N-Quads, a
replacement as a SPARQL Update.
"""

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from rdflib import Literal, URIRef

from core.stores.endpoint import Endpoint
from ingest.describe.plan import MONITOR
from ingest.entailed import in_both, with_entailed
from ingest.errors import NotConformingError
from ingest.history.history import archive
from ingest.load.catalogues import Catalogues, external_nodes, read_catalogues
from ingest.load.fast_load import (
    graphs_of,
    hosts_with_mixed_graphs,
    pack,
    send,
    unknown_hosts,
)
from ingest.load.register import (
    RegisteredTwin,
    Registration,
    check_signs,
    read_known,
    read_signs,
    registration_insert,
    same_machine_warnings,
    signs_of,
)
from ingest.load.replace import CurrentTwin, read_current, replace
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import PROV, ST
from shapes.validate import validate

if TYPE_CHECKING:
    from ingest.description import Description


@dataclass(frozen=True)
class Published:
    """The result of publishing: whether the twin changed, and the shapes' warnings.

    `triples` is the number of triples written; 0 for an unchanged twin.
    """

    changed: bool
    warnings: list[str]
    triples: int = 0


@dataclass(frozen=True)
class TwinStores:
    """The two datasets that hold a twin."""

    twin: Endpoint
    history: Endpoint


def publish(
    description: "Description",
    store: TwinStores,
    iris: Iris,
    confirm: bool = False,
    registration: Registration | None = None,
    catalogues: Catalogues | None = None,
) -> Published:
    """Validate a description and make it the twin of its host.

    A `registration` is written in the same transaction. `catalogues` are those used for
    the description; a caller that loads many hosts reads them once. Raises
    NotConformingError with the report, or OtherMachineError if the name belongs to
    another machine and `confirm` is false; nothing changes then.
    """
    lines = check_shapes(description, store.twin, iris)
    shared = catalogues or read_catalogues(store.twin, iris)
    adds = shared.missing_triples(description, iris)
    lines += _known_under_other_name(description, store.twin)
    size = sum(map(len, (graphs_of(description, iris) | adds).values()))
    if not registration and _added(description, store, iris, adds):
        return Published(True, lines, size)
    known = read_known(store.twin, description.node)
    if not confirm:
        check_signs(description, known)
    same = known.whole and known.digest == description.digest
    standing = None if same else _current_twin(description, store.twin, iris, known)
    old = standing.twin if standing else None
    archive(store.twin, store.history, iris, description, known.digest, old)
    update_text = registration_insert(iris, description, known, confirm)
    update_text += registration.update(iris, description.host) if registration else ""
    if same and _is_plan_complete(description, iris, store.twin):
        store.twin.update(update_text + _record_unchanged(description, iris))
        return Published(False, lines)
    replace(description, store.twin, iris, adds, update_text, standing)
    return Published(True, lines, size)


def _current_twin(
    description: "Description", twin: Endpoint, iris: Iris, known: RegisteredTwin
) -> CurrentTwin | None:
    """Read the stored twin, unless two processes wrote it at the same moment."""
    if not known.whole or not known.digest:
        return None
    return read_current(twin, iris, description.host, known.digest)


def check_shapes(description: "Description", twin: Endpoint, iris: Iris) -> list[str]:
    """Return the shapes' warnings; raises NotConformingError."""
    triples = chain.from_iterable(description.graphs)
    report = validate(triples, external_nodes(description, twin, iris))
    if not report.conforms:
        raise NotConformingError(description.host, report.lines)
    return list(report.lines)


def _known_under_other_name(description: "Description", twin: Endpoint) -> list[str]:
    seen = signs_of(description)
    known = read_signs(twin, seen) if seen else {}
    return same_machine_warnings(description.host, seen, known)


def _added(
    description: "Description",
    store: TwinStores,
    iris: Iris,
    adds: dict[URIRef, Triples],
) -> bool:
    """Write a new host; return False if it is not new."""
    hosts = {description.host}
    if not unknown_hosts(store.twin, store.history, iris, hosts):
        return False
    send(store.twin, store.history, [pack(description, iris, adds)])
    return not hosts_with_mixed_graphs(store.twin, iris, hosts)


def _is_plan_complete(description: "Description", iris: Iris, twin: Endpoint) -> bool:
    """Whether the monitor plan is complete: others may have written to its graph."""
    graph = iris.plans_graph(description.host)
    rows = twin.select(
        f"""PREFIX st: <{ST}>
        SELECT (COUNT(*) AS ?plans) WHERE {{ GRAPH <{graph}>
          {{ ?plan a st:SamplingPlan ; st:planName {Literal(MONITOR).n3()} }} }}"""
    ).values()
    is_monitor = (ST.planName, Literal(MONITOR))
    planned = sum((p, o) == is_monitor for _, p, o in description.plans)
    return bool(rows[0][0] == planned)


def _record_unchanged(description: "Description", iris: Iris) -> str:
    """The update for an unchanged machine: it replaces the newest probe."""
    graph, node = iris.twin_graph(description.host), description.node
    probe = insertion(with_entailed({graph: description.probe}, iris))
    return f"""PREFIX st: <{ST}> PREFIX prov: <{PROV}>
    DELETE {{
      GRAPH <{graph}> {{ <{node}> prov:wasGeneratedBy ?probe .
        ?claim st:claimedBy ?seen }}
      GRAPH ?graph {{ ?seen ?p ?o }} }}
    WHERE {{
      GRAPH <{graph}> {{
        <{node}> prov:wasGeneratedBy ?probe . ?probe st:consulted? ?seen
        OPTIONAL {{ ?claim st:claimedBy ?seen }} }}
      {in_both(iris, graph, "?seen ?p ?o")} }} ;
    {probe}"""
