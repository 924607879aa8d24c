"""Keeps the control groups in the graph store equal to the bridge's list.

They are in a named graph of their own, which no probe of the host replaces. Writing
twice changes nothing; the next call makes up for one that was missed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rdflib import URIRef

from core.linux.cgroups.ledger import Ledger
from core.stores.endpoint import Endpoint
from ingest.describe.cgroup import PlannedCgroupMetric, describe_cgroups
from ingest.entailed import in_both, with_entailed
from ingest.triples import Triples, insertion
from ontology.iris import Iris
from ontology.terms import ST
from sampling.plans.ended import PlanOf, ended_plans
from sampling.plans.store import remove_plan


@dataclass(frozen=True)
class CgroupChange:
    """Groups to remove, groups to describe, and plans that are over."""

    stale: Sequence[URIRef]
    fresh: Mapping[URIRef, Triples]
    over: Sequence[str]


class CgroupTwins:
    """Keeps the control groups of a host in the graph; raises EndpointError."""

    def __init__(self, twin: Endpoint, iris: Iris, host: str, domain: str) -> None:
        self._twin = twin
        self._iris = iris
        self._host = host
        self._domain = domain
        self._graph = iris.cgroups_graph(host)
        self._stored: Mapping[URIRef, Triples] = {}
        self._empty = False

    def pending(self, ledger: Ledger) -> CgroupChange | None:
        """The changes that a list needs in the graph; None if it needs none.

        Nothing is written for a host that is not in the twin.
        """
        lives = [*ledger.ended, *ledger.running.values()]
        if not lives and self._empty:
            return None
        host = self._iris.host(self._host)
        if not self._twin.ask(f"ASK {{ <{host}> a <{ST.ComputeNode}> }}"):
            return None
        # Removing the host from the twin removes its groups, too.
        known = {iri: self._stored.get(iri) for iri in self._standing()}
        self._empty = not known
        wanted = describe_cgroups(self._iris, self._host, lives, self._planned())
        stale = [iri for iri, triples in known.items() if wanted.get(iri) != triples]
        fresh = {
            iri: triples for iri, triples in wanted.items() if triples != known.get(iri)
        }
        over = ended_plans(self._plans(), lives)
        return CgroupChange(stale, fresh, over) if stale or fresh or over else None

    def write(self, change: CgroupChange) -> None:
        """Write a change: the groups in one update, then the plans that are over."""
        if change.stale or change.fresh:
            every = Triples(
                triple for triples in change.fresh.values() for triple in triples
            )
            self._twin.update(
                f"{self._removal(change.stale)} ;\n"
                f"{insertion(with_entailed({self._graph: every}, self._iris))}"
            )
            stale = {*change.stale}
            kept = {
                iri: triples
                for iri, triples in self._stored.items()
                if iri not in stale
            }
            self._stored, self._empty = {**kept, **change.fresh}, False
        for name in change.over:
            remove_plan(self._host, name, self._twin, self._iris)

    def _standing(self) -> list[URIRef]:
        rows = self._twin.select(
            f"SELECT ?group {{ GRAPH <{self._graph}> {{ ?group a <{ST.Cgroup}> }} }}"
        )
        return [URIRef(str(row[0])) for row in rows.values()]

    def _planned(self) -> list[PlannedCgroupMetric]:
        """The metrics that plans sample of all groups; of several plans, the finest."""
        domain = self._iris.instance_domain(self._domain)
        rows = self._twin.select(
            f"""SELECT ?name ?metric ?plan {{
              ?metric <{ST.instanceDomain}> <{domain}> ; <{ST.samplerName}> ?name .
              ?plan <{ST.samples}> ?metric ; <{ST.period}> ?period ;
                    <{ST.ofHost}> <{self._iris.host(self._host)}> .
              FILTER NOT EXISTS {{ ?plan <{ST.samplesInstance}> ?some }}
            }} ORDER BY DESC(?period) ?plan"""
        )
        return [
            PlannedCgroupMetric(
                str(name), URIRef(metric), domain, self._domain, URIRef(plan)
            )
            for name, metric, plan in rows.values()
        ]

    def _plans(self) -> list[PlanOf]:
        """The plans that may end with a group: those of named groups, or by a query."""
        domain = self._iris.instance_domain(self._domain)
        rows = self._twin.select(
            f"""SELECT DISTINCT ?plan ?own ?instance ?query ?given {{
              ?each <{ST.ofHost}> <{self._iris.host(self._host)}> ;
                    <{ST.planName}> ?plan ; <{ST.samples}> ?metric ;
                    <{ST.samplesInstance}> ?instance .
              BIND (EXISTS {{ ?metric <{ST.instanceDomain}> <{domain}> }} AS ?own)
              OPTIONAL {{ ?each <{ST.instancesFrom}> ?query }}
              OPTIONAL {{ ?each <{ST.queryParameters}> ?given }}
            }}"""
        )
        return [PlanOf(*row) for row in rows.values()]

    def _removal(self, groups: Iterable[URIRef]) -> str:
        """The removal of groups, with their instances and series."""
        values = " ".join(f"<{iri}>" for iri in groups)
        return f"""DELETE {{ GRAPH ?graph {{ ?s ?p ?o }} }} WHERE {{
          {{ VALUES ?s {{ {values} }} }} UNION {{ VALUES ?group {{ {values} }}
            GRAPH <{self._graph}> {{ ?s <{ST.ofComponent}> ?group }} }}
          {in_both(self._iris, self._graph, "?s ?p ?o")} }}"""
