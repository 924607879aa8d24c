"""A host of 128 threads, as large as a current compute node, in our vocabulary."""

import pytest
from rdflib import RDF, RDFS, XSD, Graph, Literal, URIRef

from ontology.iris import Iris
from ontology.selectors import series_name
from ontology.terms import PROV, QUDT, ST, UNIT

IRIS = Iris("http://localhost:8000")
HOST = "big"
THREADS, CORES, SOCKETS = 128, 64, 2
PER_CPU_METRICS, METRICS, EVENTS = 16, 1627, 1906
CPU_DOMAIN = "60.0"


def _add(graph: Graph, subject: URIRef, kind: URIRef, **properties: object) -> URIRef:
    graph.add((subject, RDF.type, kind))
    for name, values in properties.items():
        for value in values if isinstance(values, list) else [values]:
            term = value if isinstance(value, URIRef | Literal) else Literal(value)
            graph.add((subject, RDFS.label if name == "label" else ST[name], term))
    return subject


def _part(kind: str, name: object) -> URIRef:
    return IRIS.component(HOST, kind, str(name))


def _topology(graph: Graph, host: URIRef) -> None:
    per_socket = CORES // SOCKETS
    for s in range(SOCKETS):
        socket = _part("socket", f"socket-{s * per_socket}")
        _add(graph, socket, ST.Socket, osIndex=s, isPartOf=host, cpuModel="X",
             cpuFlag=[f"flag{n}" for n in range(120)])  # fmt: skip
        _add(graph, _part("numa", s), ST.NumaDomain, osIndex=s, isPartOf=socket,
             memorySize=2**37)  # fmt: skip
        for other in range(SOCKETS):
            _add(graph, _part("distance", f"{s}-{other}"), ST.NumaDistance,
                 fromDomain=_part("numa", s), toDomain=_part("numa", other),
                 distance=10 if s == other else 21)  # fmt: skip
    for c in range(CORES):
        socket = _part("socket", f"socket-{c // per_socket * per_socket}")
        _core(graph, c, socket, _part("numa", c // per_socket))


def _core(graph: Graph, c: int, socket: URIRef, numa: URIRef) -> None:
    core = _part("core", f"core-{c}")
    _add(graph, core, ST.Core, osIndex=c, isPartOf=socket, label=f"core {c}",
         minFrequency=10**9, maxFrequency=3 * 10**9)  # fmt: skip
    caches = [
        _cache(graph, f"l1d-{c}", 1, ST.DataCache, core),
        _cache(graph, f"l1i-{c}", 1, ST.InstructionCache, core),
        _cache(graph, f"l2-{c}", 2, ST.UnifiedCache, core),
        _cache(graph, f"l3-{c // 8 * 8}", 3, ST.UnifiedCache, socket),
    ]
    for t in (c, c + CORES):
        _add(graph, _part("thread", t), ST.HardwareThread, osIndex=t, allowed=True,
             isPartOf=core, usesCache=caches, inNumaDomain=numa,
             label=f"thread {t}")  # fmt: skip


def _cache(graph: Graph, name: str, level: int, type_: URIRef, of: URIRef) -> URIRef:
    return _add(graph, _part("cache", name), ST.Cache, cacheLevel=level,
                cacheType=type_, cacheSize=2**20, lineSize=64, associativity=16,
                cacheSets=1024, isPartOf=of, label=name)  # fmt: skip


def _metrics(graph: Graph, host: URIRef) -> list[URIRef]:
    metrics = []
    domain = _add(graph, IRIS.instance_domain(CPU_DOMAIN), ST.InstanceDomain,
                  domainId=CPU_DOMAIN)  # fmt: skip
    for n in range(METRICS):
        name = f"kernel.percpu.metric{n}"
        metric = _add(graph, IRIS.metric(name), ST.Metric, samplerName=name,
                      dbName=series_name(name), semantics=ST.Counter, valueType="u64",
                      pcpUnits="millisec", pmdaName="linux",
                      instanceDomain=domain)  # fmt: skip
        graph.add((metric, QUDT.hasUnit, UNIT.MilliSEC))
        graph.add((metric, RDFS.comment, Literal(f"help of {name}")))
        graph.add((host, ST.exposes, metric))
        metrics.append(metric)
    for t in range(THREADS):
        _add(graph, IRIS.metric_instance(HOST, CPU_DOMAIN, f"cpu{t}"),
             ST.MetricInstance, inInstanceDomain=domain, instname=f"cpu{t}",
             ofHost=host, ofComponent=_part("thread", t))  # fmt: skip
    return metrics


def _telemetry(graph: Graph, host: URIRef, metric: URIRef) -> None:
    name = str(graph.value(metric, ST.samplerName))
    plan = _add(graph, _part("plan", f"monitor.{name}"), ST.SamplingPlan, ofHost=host,
                samples=metric, planName="monitor",
                period=Literal("1.0", datatype=XSD.decimal))  # fmt: skip
    for t in range(THREADS):
        _add(graph, IRIS.telemetry(HOST, name, f"cpu{t}"), ST.SWTelemetry,
             ofMetric=metric, samplerName=name, dbName=series_name(name),
             instname=f"cpu{t}", ofComponent=_part("thread", t), ofHost=host,
             sampledBy=plan)  # fmt: skip


def _pmu(graph: Graph, host: URIRef) -> None:
    model = _add(graph, IRIS.pmu("spr"), ST.PmuModel, pmuName="spr", counterCount=8,
                 fixedCounterCount=4, pmuType="core", label="Sapphire")  # fmt: skip
    _add(graph, _part("pmu", "spr"), ST.Pmu, pmuName="spr", pmuModel=model,
         isPartOf=host,
         counts=[_part("thread", t) for t in range(THREADS)])  # fmt: skip
    for n in range(EVENTS):
        event = _add(graph, IRIS.pmu_event("spr", f"EVENT{n}"), ST.PmuEvent,
                     ofPmu=model, pmuName=f"EVENT{n}", eventCode=hex(n))  # fmt: skip
        graph.add((event, RDFS.comment, Literal(f"counts {n}")))


def _probe(graph: Graph, host: URIRef) -> None:
    source = _add(graph, _part("source", "20261121T000000Z.hwloc"), ST.ProbeSource,
                  sourceName="hwloc", succeeded=True,
                  seconds=Literal("0.05", datatype=XSD.decimal))  # fmt: skip
    probe = _add(graph, _part("probe", "20261121T000000Z"), ST.Probe, consulted=source)
    for name in ("startedAtTime", "endedAtTime"):
        moment = Literal("2026-11-21T00:00:00Z", datatype=XSD.dateTime)
        graph.add((probe, PROV[name], moment))
    graph.add((host, PROV.wasGeneratedBy, probe))


@pytest.fixture(scope="session")
def big_host() -> Graph:
    """A host, its plans and the catalogues it refers to, in one graph."""
    graph = Graph()
    host = _add(graph, IRIS.host(HOST), ST.ComputeNode, hostname=HOST, label=HOST,
                digest="0" * 64, memorySize=2**38, sign="machine-id:1")  # fmt: skip
    _topology(graph, host)
    for metric in _metrics(graph, host)[:PER_CPU_METRICS]:
        _telemetry(graph, host, metric)
    _pmu(graph, host)
    _probe(graph, host)
    return graph
