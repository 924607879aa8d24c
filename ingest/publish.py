"""A description → Fuseki: validated first, the old twin archived, one update.

Readers see the old twin or the new one: catalogues, twin and plans of a host go in one
SPARQL Update, which TDB2 runs as one transaction.
"""

from dataclasses import dataclass
from itertools import chain

from rdflib import Literal, URIRef

from ingest.describe import Description
from ingest.describe_metrics import Descriptor
from ingest.describe_plan import MONITOR
from ingest.errors import NotConformingError
from ingest.history import archive
from ingest.register import (
    Registration,
    check_signs,
    read_known,
    remembered,
    same_elsewhere,
)
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import PREFIXES, PROV, ST
from queries.endpoint import Endpoint
from shapes.validate import validate


@dataclass(frozen=True)
class Published:
    """What publishing did: whether the twin changed, and what the shapes warn of."""

    changed: bool
    warnings: list[str]


@dataclass(frozen=True)
class Store:
    """The two datasets that a twin lives in."""

    twin: Endpoint
    history: Endpoint


def read_catalogue(twin: Endpoint, iris: Iris) -> dict[str, Descriptor]:
    """The descriptor that each metric of the shared catalogue has, by PCP name."""
    rows = twin.select(
        f"""PREFIX st: <{ST}>
        SELECT ?metric ?name ?type ?semantics ?units ?domain WHERE {{
          GRAPH <{iris.metrics_graph}> {{
            ?metric st:samplerName ?name ; st:valueType ?type ;
                    st:semantics ?semantics .
            OPTIONAL {{ ?metric st:pcpUnits ?units }}
            OPTIONAL {{ ?metric st:instanceDomain/st:domainId ?domain }}
          }}
        }}"""
    ).rows
    return {
        str(name): Descriptor(
            str(type_),
            str(semantics).removeprefix(str(ST)).lower(),
            str(units or ""),
            str(domain) if domain else None,
        )
        for metric, name, type_, semantics, units, domain in rows
        if metric == iris.metric(str(name))
    }


def publish(
    description: Description,
    store: Store,
    iris: Iris,
    confirm: bool = False,
    registration: Registration | None = None,
) -> Published:
    """Validate a description and make it the twin of its host.

    A `registration` is written with it, or not at all. Raises NotConformingError with
    the report, or OtherMachineError when another machine is known by that name and
    `confirm` is not given; nothing is changed then.
    """
    report = validate(chain.from_iterable(description.graphs))
    if not report.conforms:
        raise NotConformingError(description.host, report.lines)
    known = read_known(store.twin, description.node)
    if not confirm:
        check_signs(description, known)
    warnings = [*report.lines, *same_elsewhere(store.twin, description)]
    archive(store.twin, store.history, iris, description, known.digest)
    said = remembered(iris, description, known, confirm)
    said += registration.update(iris, description.host) if registration else ""
    same = known.digest == description.digest
    if same and _plan_stands(description, iris, store.twin):
        store.twin.update(said + _same_seen_again(description, iris))
        return Published(False, warnings)
    store.twin.update(said + _replacement(description, iris, store.twin))
    return Published(True, warnings)


def _plan_stands(description: Description, iris: Iris, twin: Endpoint) -> bool:
    """Whether the monitor plan is whole: others may have written to its graph."""
    graph = iris.plans_graph(description.host)
    rows = twin.select(
        f"""PREFIX st: <{ST}>
        SELECT (COUNT(*) AS ?plans) WHERE {{ GRAPH <{graph}>
          {{ ?plan a st:SamplingPlan ; st:planName {Literal(MONITOR).n3()} }} }}"""
    ).values()
    planned = sum(o == ST.SamplingPlan for _, _, o in description.plans)
    return bool(rows[0][0] == planned)


def _replacement(description: Description, iris: Iris, twin: Endpoint) -> str:
    """The one update: host and monitor plan replaced, catalogues merged."""
    plans = iris.plans_graph(description.host)
    twin_graph = iris.twin_graph(description.host)
    facts = Triples([*description.twin, *description.probe])
    inserts = {twin_graph: facts, plans: description.plans}
    for graph, triples in _catalogues(description, iris).items():
        inserts[graph] = _unknown(triples, twin, graph)
    blocks = "".join(
        f"GRAPH <{graph}> {{\n{triples.ntriples()}}}\n"
        for graph, triples in inserts.items()
    )
    return "".join(
        (
            f"PREFIX st: <{PREFIXES['st']}>\n",
            f"DROP SILENT GRAPH <{twin_graph}> ;\n",
            _without_monitor(plans),
            f"INSERT DATA {{\n{blocks}}}",
        )
    )


def _same_seen_again(description: Description, iris: Iris) -> str:
    """The one update for a machine that did not change: who saw it last, and when."""
    graph, node = iris.twin_graph(description.host), description.node
    return f"""PREFIX st: <{ST}> PREFIX prov: <{PROV}>
    WITH <{graph}> DELETE {{
      <{node}> prov:wasGeneratedBy ?probe . ?seen ?p ?o . ?claim st:claimedBy ?seen }}
    WHERE {{
      <{node}> prov:wasGeneratedBy ?probe .
      ?probe st:consulted? ?seen . ?seen ?p ?o
      OPTIONAL {{ ?claim st:claimedBy ?seen }} }} ;
    INSERT DATA {{ GRAPH <{graph}> {{
    {description.probe.ntriples()} }} }}"""


def _without_monitor(plans: URIRef) -> str:
    """Removes the monitor plan and its telemetry; other plans of the host stay."""
    name = Literal(MONITOR).n3()
    return f"""WITH <{plans}> DELETE {{ ?s ?p ?o }} WHERE {{
      {{ ?s st:planName {name} }} UNION {{ ?s st:sampledBy/st:planName {name} }}
      ?s ?p ?o }} ;
    """


def _catalogues(description: Description, iris: Iris) -> dict[URIRef, Triples]:
    return {iris.metrics_graph: description.metrics, **description.pmus}


def _unknown(triples: Triples, twin: Endpoint, graph: URIRef) -> Triples:
    """The part of a catalogue that the store does not hold yet.

    Catalogues are shared: what another host said of a metric or an event stays.
    """
    rows = twin.select(f"SELECT DISTINCT ?s WHERE {{ GRAPH <{graph}> {{ ?s a ?c }} }}")
    known = {subject for (subject,) in rows.rows}
    return Triples(triple for triple in triples if triple[0] not in known)
