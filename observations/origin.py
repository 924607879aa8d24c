"""The provenance of a run in PROV: what it used, who requested it, and its plan."""

from rdflib import PROV, RDFS, URIRef

from ingest.describe.process import process_iri
from ingest.sources.processes import Identity
from ingest.triples import Triples
from observations.record import Observation, Run, plan_of, time_literal
from ontology.iris import Iris
from ontology.terms import ST, VERSION

_SOFTWARE = f"SuperTwin {VERSION}"


def describe_origin(triples: Triples, iris: Iris, run: Observation) -> None:
    """Link a run to its origins, and describe those that no other graph describes."""
    spec, node = run.spec, iris.observation(run.id)
    chosen_by = [URIRef(address) for address in spec.pinning_queries]
    process = process_of(iris, spec.host, run.run)
    surroundings = iris.observation_part(run.id, "surroundings")
    triples.link(
        node,
        {
            PROV.used: [iris.host(spec.host), *chosen_by],
            ST.pinningQuery: chosen_by,
            ST.ranProcess: process,
        },
    )
    if run.run.about:
        triples.link(node, {PROV.used: surroundings})
    _describe_process(triples, process, run)
    _describe_agents(triples, iris, node, run)


def process_of(iris: Iris, host: str, run: Run) -> URIRef:
    """Return the IRI of the process that a command was."""
    return process_iri(iris, host, _identity(run))


def _identity(run: Run) -> Identity:
    started = run.started
    return Identity(started["pid"], started["start_ticks"], started["boot"])


def _describe_process(triples: Triples, process: URIRef, run: Observation) -> None:
    """Describe the process; it has ended, so it is not a part of the host."""
    identity, program = _identity(run.run), run.run.about.get("program") or {}
    triples.node(
        process,
        ST.Process,
        {
            ST.processId: identity.pid,
            ST.startTicks: identity.start,
            ST.bootId: identity.boot,
            ST.processStart: time_literal(run.run.span.start_ms),
            ST.commandLine: run.spec.command,
            ST.executable: program.get("path"),
            ST.userName: run.run.started.get("user"),
        },
        label=f"{run.spec.argv[0].rpartition('/')[2]} ({identity.pid})",
    )


def _describe_agents(
    triples: Triples, iris: Iris, node: URIRef, run: Observation
) -> None:
    """Describe who requested the run, and the software that sampled it by a plan."""
    software, spec = iris.agent(_SOFTWARE), run.spec
    triples.node(software, PROV.SoftwareAgent, {}, label=_SOFTWARE)
    triples.link(node, {PROV.wasAssociatedWith: software})
    if spec.by:
        who = iris.agent(spec.by)
        triples.node(who, PROV.Agent, {}, label=spec.by)
        triples.link(node, {PROV.wasAssociatedWith: who})
    if not run.metrics:
        return
    association = iris.observation_part(run.id, "association")
    plan = iris.observation_part(run.id, "plan")
    triples.link(node, {PROV.qualifiedAssociation: association})
    triples.node(
        association, PROV.Association, {PROV.agent: software, PROV.hadPlan: plan}
    )
    triples.node(plan, PROV.Plan, {RDFS.label: plan_of(spec.group or run.id)})
