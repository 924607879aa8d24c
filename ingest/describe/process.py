"""Describe a process as a graph, built for each request."""

from collections.abc import Iterable
from datetime import datetime

from rdflib import XSD, Literal, URIRef

from ingest.sources.processes import Identity, ProcessFacts, ProcessThread
from ingest.triples import Triples
from ontology.iris import Iris
from ontology.terms import ST


def process_iri(iris: Iris, host: str, identity: Identity) -> URIRef:
    """``process/{pid}.{start}.{boot}``, since another process may reuse the pid."""
    return iris.component(host, "process", str(identity))


def describe_process(iris: Iris, host: str, process: ProcessFacts) -> Triples:
    """Describe identity, owner, affinity, and where threads ran and memory lies."""
    triples = Triples()
    iri = process_iri(iris, host, process.identity)
    triples.node(
        iri,
        ST.Process,
        {
            ST.isPartOf: iris.host(host),
            ST.ofHost: iris.host(host),
            ST.processId: process.identity.pid,
            ST.startTicks: process.identity.start,
            ST.bootId: process.identity.boot,
            ST.processStart: time_literal(process.started),
            ST.commandLine: process.command,
            ST.executable: process.executable,
            ST.userName: process.user,
            ST.parentProcess: _parent(iris, host, process.parent),
            ST.runState: process.state,
            ST.schedulingPolicy: process.policy,
            ST.niceness: process.nice,
            ST.cgroupPath: process.cgroup,
            ST.residentSize: process.resident,
            ST.taskCount: process.task_count,
            ST.mayRunOn: _threads(iris, host, process.cpus),
            ST.mayAllocateIn: _domains(iris, host, process.domains),
        },
        label=f"{process.name} ({process.identity.pid})",
    )
    _placement(triples, iris, host, iri, process)
    for task in process.tasks:
        _task(triples, iris, host, iri, process, task)
    return triples


def describe_telemetry(
    iris: Iris,
    host: str,
    process: URIRef,
    metrics: Iterable[tuple[str, URIRef]],
    instance: str,
) -> Triples:
    """Describe its series: one for each of PCP's process metrics (name and IRI)."""
    triples = Triples()
    for name, metric in metrics:
        triples.node(
            iris.telemetry(host, name, instance),
            ST.SWTelemetry,
            {
                ST.ofComponent: process,
                ST.ofHost: iris.host(host),
                ST.ofMetric: metric,
                ST.samplerName: name,
                ST.instname: instance,
            },
        )
    return triples


def time_literal(time: datetime) -> Literal:
    """A UTC time to the millisecond, as the graph holds it."""
    text = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Literal(text, datatype=XSD.dateTime, normalize=False)


def _placement(
    triples: Triples, iris: Iris, host: str, iri: URIRef, process: ProcessFacts
) -> None:
    for domain, size in sorted((process.placement or {}).items()):
        placed = URIRef(f"{iri}/numa-{domain}")
        triples.link(iri, {ST.hasPlacement: placed})
        triples.node(
            placed,
            ST.NumaPlacement,
            {
                ST.placedIn: iris.component(host, "numa", str(domain)),
                ST.residentSize: size,
            },
        )


def _task(
    triples: Triples,
    iris: Iris,
    host: str,
    iri: URIRef,
    process: ProcessFacts,
    task: ProcessThread,
) -> None:
    own = task.cpus if task.cpus != process.cpus else []
    triples.node(
        URIRef(f"{iri}/thread-{task.tid}"),
        ST.ProcessThread,
        {
            ST.ofHost: iris.host(host),
            ST.threadOf: iri,
            ST.threadId: task.tid,
            ST.runState: task.state,
            ST.lastRanOn: iris.component(host, "thread", str(task.last_cpu)),
            ST.mayRunOn: _threads(iris, host, own),
        },
        label=task.name,
    )


def _parent(iris: Iris, host: str, parent: Identity | None) -> URIRef | None:
    return process_iri(iris, host, parent) if parent else None


def _threads(iris: Iris, host: str, cpus: Iterable[int]) -> list[URIRef]:
    return [iris.component(host, "thread", str(cpu)) for cpu in cpus]


def _domains(iris: Iris, host: str, domains: Iterable[int]) -> list[URIRef]:
    return [iris.component(host, "numa", str(domain)) for domain in domains]
