"""Describe control groups: their jobs, limits and series."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from rdflib import Literal, URIRef

from core.linux.cgroups.groups import parent_of
from core.linux.cgroups.ledger import CgroupLife
from core.linux.cgroups.schedulers import SchedulerJob, parse_job
from ingest.describe.process import time_literal
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.selectors import series_name
from ontology.terms import ST


class PlannedCgroupMetric(NamedTuple):
    """A metric of control groups for which a plan samples all instances."""

    name: str
    metric: URIRef
    domain: URIRef
    domain_id: str
    plan: URIRef


def cgroup_iri(iris: Iris, host: str, life: CgroupLife) -> URIRef:
    """``cgroup/{path}.{ms}``: the path alone may later mean another group."""
    return iris.component(host, "cgroup", f"{life.path.lstrip('/')}.{life.began}")


def describe_cgroups(
    iris: Iris,
    host: str,
    lives: Iterable[CgroupLife],
    planned: Iterable[PlannedCgroupMetric],
) -> dict[URIRef, Triples]:
    """Describe each group; while it runs, also its metric instances and series."""
    by_path: dict[str, list[CgroupLife]] = defaultdict(list)
    for life in lives:
        by_path[life.path].append(life)
    metrics = {one.name: one for one in planned}
    found: dict[URIRef, Triples] = {}
    for path, own in by_path.items():
        for life in own:
            above = _above(path, life, by_path)
            parent = cgroup_iri(iris, host, above) if above else None
            triples = _described(iris, host, life, parent)
            if life.ended is None:
                _series(triples, iris, host, life, metrics)
            found[cgroup_iri(iris, host, life)] = triples
    return found


def _above(
    path: str, life: CgroupLife, by_path: Mapping[str, list[CgroupLife]]
) -> CgroupLife | None:
    """The nearest ancestor group that existed when the group began."""
    while (path := parent_of(path, by_path) or "") != "":
        earlier = [one for one in by_path[path] if one.began <= life.began]
        if earlier:
            return earlier[-1]
    return None


def _described(
    iris: Iris, host: str, life: CgroupLife, parent: URIRef | None
) -> Triples:
    triples, job, allowed = Triples(), parse_job(life.path), life.allowed
    triples.node(
        cgroup_iri(iris, host, life),
        ST.Cgroup,
        {
            ST.ofHost: iris.host(host),
            ST.cgroupPath: life.path,
            ST.cgroupVersion: life.versions,
            ST.controller: allowed.controllers,
            ST.parentCgroup: parent,
            ST.jobId: job.job,
            ST.stepId: job.step,
            ST.userId: job.uid,
            ST.userName: job.user,
            ST.mayRunOn: [
                iris.component(host, "thread", str(cpu)) for cpu in allowed.cpus or ()
            ],
            ST.memoryLimit: allowed.memory,
            ST.cpuLimit: allowed.cpu_share,
            ST.taskLimit: allowed.tasks,
            ST.noticedAt: _time(life.began),
            ST.endedAt: None if life.ended is None else _time(life.ended),
        },
        label=_label(life.path, job),
    )
    return triples


def _series(
    triples: Triples,
    iris: Iris,
    host: str,
    life: CgroupLife,
    metrics: Mapping[str, PlannedCgroupMetric],
) -> None:
    """Describe the group's instance in each domain, and its series."""
    own = [metrics[name] for name in life.metrics if name in metrics]
    common = {
        ST.instname: life.path,
        ST.ofHost: iris.host(host),
        ST.ofComponent: cgroup_iri(iris, host, life),
    }
    for domain_id, domain in {(one.domain_id, one.domain) for one in own}:
        triples.node(
            iris.metric_instance(host, domain_id, life.path),
            ST.MetricInstance,
            {ST.inInstanceDomain: domain, **common},
        )
    for one in own:
        triples.node(
            iris.telemetry(host, one.name, life.path),
            ST.SWTelemetry,
            {
                ST.ofMetric: one.metric,
                ST.samplerName: one.name,
                ST.dbName: series_name(one.name),
                ST.sampledBy: one.plan,
                **common,
            },
        )


def _label(path: str, job: SchedulerJob) -> str:
    if job.job is None:
        return path
    return f"job {job.job}" if job.step is None else f"job {job.job}, step {job.step}"


def _time(ms: int) -> Literal:
    return time_literal(datetime.fromtimestamp(ms / 1000, UTC))
