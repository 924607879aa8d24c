"""Read and publish PMU models and roles in the store."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rdflib import DCTERMS, Graph, Literal

from core.stores.endpoint import Endpoint
from ingest.describe.pmu import describe_model
from ingest.describe.roles import describe_roles
from ingest.entailed import drop, entailed, with_entailed
from ingest.errors import NotConformingError
from ingest.pmu.figures import FILE as FIGURES
from ingest.pmu.roles import roles_digest
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import ST
from shapes.validate import validate

if TYPE_CHECKING:
    from ingest.schema.schema import ProbedPmu


def stored_models(twin: Endpoint) -> set[str]:
    """The PMU models for which the store holds all events."""
    rows = twin.select(
        f"""PREFIX st: <{ST}>
        SELECT ?name (COUNT(?event) AS ?events) (SAMPLE(?all) AS ?count) WHERE {{
          ?model a st:PmuModel ; st:pmuName ?name ; st:eventCount ?all .
          # An event that only a role names has no code.
          ?event st:ofPmu ?model ; st:eventCode ?code .
          FILTER NOT EXISTS {{ ?event st:umaskOf ?whole }}
        }} GROUP BY ?name HAVING (BOUND(?name))"""
    ).values()
    return {str(name) for name, events, count in rows if events >= count}


def publish_models(twin: Endpoint, iris: Iris, models: Iterable["ProbedPmu"]) -> int:
    """Add PMU models with all their events; return the number of triples.

    An existing event is replaced; one that this libpfm4 lacks stays. Raises
    NotConformingError; models before the faulty one are kept.
    """
    written = 0
    for model in models:
        described = describe_model(iris, model)
        _check(f"PMU {model.name}", described.graph())
        graph = iris.pmu_graph(model.name)
        following = {iris.entailed_graph(graph): entailed(described, iris)}
        twin.update(f"{_merged(str(graph), described)} ;\n{insertion(following)}")
        written += len(described)
    return written


def publish_roles(twin: Endpoint, iris: Iris) -> bool:
    """Publish the roles unless the store already holds these; return whether it wrote.

    Raises NotConformingError.
    """
    digest, graph = Literal(roles_digest(FIGURES.read_bytes())), iris.roles_graph
    held = twin.select(
        f"""SELECT ?digest WHERE {{
          GRAPH <{graph}> {{ <{graph}> <{DCTERMS.identifier}> ?digest }} }}"""
    ).rows
    if any(row[0] == digest for row in held):
        return False
    described = describe_roles(iris)
    _check("the roles", described.graph())
    described.append((graph, DCTERMS.identifier, digest))
    written = insertion(with_entailed({graph: described}, iris))
    twin.update(f"{drop(iris, graph)} ;\n{written}")
    return True


def _merged(graph: str, described: Triples) -> str:
    """The update that replaces all triples of the described subjects.

    It avoids SPARQL's ADD: Fuseki 5.6 loses triples when it adds to an existing graph.
    """
    subjects = " ".join(dict.fromkeys(f"<{subject}>" for subject, _, _ in described))
    return f"""DELETE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }} WHERE {{
      VALUES ?s {{ {subjects} }} GRAPH <{graph}> {{ ?s ?p ?o }} }} ;
    INSERT DATA {{ GRAPH <{graph}> {{ {described.ntriples()} }} }}"""


def _check(what: str, described: Graph) -> None:
    report = validate(described)
    if not report.conforms:
        raise NotConformingError(what, report.lines)
