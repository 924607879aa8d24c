"""Mints every IRI; no other module of SuperTwin builds one.

"No instance" is a lone ``~``, which cannot be an id.
"""

import re
from dataclasses import dataclass

from rdflib import URIRef

from ontology.ids import IdError as IdError
from ontology.ids import below, plans_graph
from ontology.ids import decode_id as decode_id
from ontology.ids import encode_id as encode_id

NO_INSTANCE = "~"

_TELEMETRY = re.compile(r"(.+/twin/[^/]+)/telemetry/([^/]+)/([^/]+)")


def stated(pattern: str, graph: str = "graph") -> str:
    """A SPARQL pattern in graphs of facts: not in the ontology or what follows from it.

    ``graph`` is the name of a variable for the graph.
    """
    return (
        f"GRAPH ?{graph} {{ {pattern} }} "
        f'FILTER (!REGEX(STR(?{graph}), "/graph/(ontology$|entailed/)"))'
    )


def telemetry_parts(iri: str) -> tuple[str, str, str | None] | None:
    """The IRI of the host, the metric and the instance in the IRI of a series.

    None if it is another IRI.
    """
    parts = _TELEMETRY.fullmatch(iri)
    if parts is None:
        return None
    try:
        instance = None if parts[3] == NO_INSTANCE else decode_id(parts[3])
        return parts[1], decode_id(parts[2]), instance
    except IdError:
        return None


@dataclass(frozen=True)
class Iris:
    """All IRIs below one base, e.g. ``http://localhost:8000``."""

    base: str

    def host(self, host: str) -> URIRef:
        return self._iri("twin", host)

    def host_of(self, node: str) -> URIRef | None:
        """The host that a part of a twin belongs to; None for a host and all others."""
        start = f"{self.base.rstrip('/')}/twin/"
        name, slash, _ = node.removeprefix(start).partition("/")
        return URIRef(start + name) if slash and node.startswith(start) else None

    def component(self, host: str, kind: str, id_: str) -> URIRef:
        """Any component of a host: ``thread/0``, ``cache/l2-0``, ``disk/vda``."""
        return self._iri("twin", host, kind, id_)

    def metric_instance(self, host: str, domain: str, instance: str) -> URIRef:
        return self._iri("twin", host, "instance", domain, instance)

    def telemetry(self, host: str, metric: str, instance: str | None) -> URIRef:
        """One series; ``instance`` is PCP's external name, None if there is none."""
        root = self._iri("twin", host, "telemetry", metric)
        return URIRef(
            f"{root}/{NO_INSTANCE if instance is None else encode_id(instance)}"
        )

    def metric(self, name: str, variant: str = "") -> URIRef:
        """A metric of the shared catalogue; ``variant`` for a differing descriptor."""
        return URIRef(self._iri("metric", name) + (f"~~{variant}" if variant else ""))

    def instance_domain(self, domain: str) -> URIRef:
        return self._iri("indom", domain)

    def pmu(self, pmu: str) -> URIRef:
        return self._iri("pmu", pmu)

    def pmu_event(self, pmu: str, event: str) -> URIRef:
        return self._iri("pmu", pmu, event)

    def role(self, role: str) -> URIRef:
        """A quantity that any processor may measure, such as ``FLOPs``."""
        return self._iri("role", role)

    def role_formula(self, role: str, pmu: str) -> URIRef:
        """How a PMU model measures a role, or why it cannot."""
        return self._iri("role", role, pmu)

    def role_term(self, role: str, pmu: str, number: int) -> URIRef:
        return self._iri("role", role, pmu, str(number))

    def figure_formula(self, figure: str, pmu: str) -> URIRef:
        """How a figure of a run follows from roles on a PMU model."""
        return self._iri("figure", figure, pmu)

    def event_group(self, pmu: str, group: str) -> URIRef:
        """A group of events and figures that was imported for a PMU model."""
        return self._iri("event-group", pmu, group)

    def event_group_graph(self, pmu: str, group: str) -> URIRef:
        """An imported group, with the roles and figures that it needs."""
        return self._iri("graph", "pmu", pmu, group)

    @property
    def graphs(self) -> str:
        """The start of the IRI of every named graph."""
        return f"{self.base.rstrip('/')}/graph/"

    @property
    def roles_graph(self) -> URIRef:
        return self._iri("graph", "roles")

    @property
    def ontology_graph(self) -> URIRef:
        """All modules and alignments of the ontology."""
        return self._iri("graph", "ontology")

    def entailed_graph(self, graph: URIRef) -> URIRef:
        """What follows from a named graph; ``entailed/{host}`` for that of a twin."""
        start = self.graphs
        path = graph.removeprefix(start)
        # A host may have the name of a catalogue.
        path = path.removeprefix("twin/") if "/" in path else f"{path}/{NO_INSTANCE}"
        return URIRef(f"{start}entailed/{path}")

    def twin_graph(self, host: str) -> URIRef:
        return self._iri("graph", "twin", host)

    def register_graph(self, host: str) -> URIRef:
        """Facts about a host from users, and others that outlive its probes."""
        return self._iri("graph", "register", host)

    def history_graph(self, host: str) -> URIRef:
        """The states of a host, in the dataset ``history``."""
        return self._iri("graph", "history", host)

    def state_graph(self, host: str, number: int, part: str) -> URIRef:
        """The triples that a state ``removed``, those ``added``, or all, ``whole``."""
        return self._iri("graph", "history", host, str(number), part)

    def plans_graph(self, host: str) -> URIRef:
        """The plan that every host gets with its twin."""
        return URIRef(plans_graph(self.base, host))

    def plan_graph(self, host: str, plan: str) -> URIRef:
        """A plan that was added to a host, with its telemetry."""
        return self._iri("graph", "plans", host, plan)

    def counters_graph(self, host: str) -> URIRef:
        """The counters of a host's perfevent agent for its plans."""
        return self._iri("graph", "counters", host)

    def agents_graph(self, host: str) -> URIRef:
        """The agents that may run on a host on demand, and its exporters."""
        return self._iri("graph", "agents", host)

    def agent_graph(self, host: str, agent: str) -> URIRef:
        """What an agent gives that runs on a host for its plans."""
        return self._iri("graph", "agents", host, agent)

    def processes_graph(self, host: str) -> URIRef:
        """The named processes of a host, and their bindings."""
        return self._iri("graph", "processes", host)

    def probes_graph(self, host: str) -> URIRef:
        """The probes of code on a host."""
        return self._iri("graph", "probes", host)

    def cgroups_graph(self, host: str) -> URIRef:
        """The running control groups of a host, and the last that ended."""
        return self._iri("graph", "cgroups", host)

    def pmu_graph(self, pmu: str) -> URIRef:
        return self._iri("graph", "pmu", pmu)

    def observation(self, id_: str) -> URIRef:
        """One run of a command under observation."""
        return self._iri("observation", id_)

    def observation_part(self, id_: str, *path: str) -> URIRef:
        """A part of a run: its ``surroundings``, a ``summary`` of a series."""
        return self._iri("observation", id_, *path)

    def observation_graph(self, id_: str) -> URIRef:
        return self._iri("graph", "observation", id_)

    def accuracy(self, host: str, pmu: str, event: str, kernel: str) -> URIRef:
        """The accuracy of an event on a host, for a benchmark's kernel."""
        return self._iri("accuracy", host, pmu, event, kernel)

    def accuracy_graph(self, host: str) -> URIRef:
        """The accuracy of the events of a host's PMUs."""
        return self._iri("graph", "accuracy", host)

    def agent(self, name: str) -> URIRef:
        """A person who requests something, or a program that does it."""
        return self._iri("agent", name)

    def virtual(self, name: str) -> URIRef:
        """Telemetry that is computed from other telemetry."""
        return self._iri("virtual", name)

    def virtual_graph(self, name: str) -> URIRef:
        return self._iri("graph", "virtual", name)

    def baseline(self, name: str) -> URIRef:
        """Runs with which others are compared."""
        return self._iri("baseline", name)

    def baseline_graph(self, name: str) -> URIRef:
        return self._iri("graph", "baseline", name)

    def model(self, host: str, tag: str, *part: str) -> URIRef:
        """A model of runs with a tag on a host, or a ``term`` or ``input`` of it."""
        return self._iri("model", host, tag, *part)

    def model_graph(self, host: str, tag: str) -> URIRef:
        return self._iri("graph", "model", host, tag)

    def benchmark(self, id_: str) -> URIRef:
        """A benchmark that was run on a host."""
        return self._iri("benchmark", id_)

    def benchmark_result(self, id_: str, run: str, name: str) -> URIRef:
        """A figure of a benchmark; ``run`` is the id of the observation it is from."""
        return self._iri("benchmark", id_, run, name)

    def benchmark_graph(self, id_: str) -> URIRef:
        return self._iri("graph", "benchmark", id_)

    @property
    def metrics_graph(self) -> URIRef:
        return self._iri("graph", "metrics")

    def _iri(self, *segments: str) -> URIRef:
        return URIRef(below(self.base, *segments))
