"""Loads the made-up hosts into a graph store and a series store."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import orjson
from rdflib import URIRef

from bench.questions.facts import Host, Job, Launch, World
from bench.questions.levels import AFTER, BEFORE, PERIOD, Level, Span
from core.linux.cgroups.groups import CgroupLimits
from core.linux.cgroups.ledger import CgroupLife
from core.stores.endpoint import Endpoint
from ingest.describe.cgroup import PlannedCgroupMetric, describe_cgroups
from ingest.describe.plan import describe_sampling
from ingest.description import describe
from ingest.entailed import with_entailed
from ingest.hwloc.read import parse_hwloc
from ingest.schema.check import check_document
from ingest.triples import Triples
from observations.describe import describe_observation
from observations.record import Observation, Run, RunSpec
from observations.statistics import Span as Milliseconds
from ontology.iris import Iris
from ontology.selectors import series_name
from ontology.terms import ST
from tests.dashboards.synthetic_facts import topology

IRIS = Iris("http://localhost:8000")
CGROUPS = "513.0"
FAULTS = "perfevent.hwcounters.perf__PAGE_FAULTS.value"
# Name or its beginning, semantics, units and instance domain in PCP.
_METRICS = (
    ("kernel.all.load", "instant", "", "60.2"),
    ("kernel.percpu.", "counter", "millisec", "60.0"),
    ("perfevent.", "counter", "count", "127.1"),
    ("mem.util.", "instant", "Kbyte", None),
    ("mem.numa.util.", "instant", "Kbyte", "60.19"),
    ("mem.numa.alloc.", "counter", "count", "60.19"),
    ("network.interface.in.bytes", "counter", "byte", "60.3"),
    ("network.interface.out.bytes", "counter", "byte", "60.3"),
    ("network.interface.", "counter", "count", "60.3"),
    ("disk.dev.avactive", "counter", "millisec", "60.1"),
    ("disk.dev.", "counter", "Kbyte", "60.1"),
    ("lmsensors.", "instant", "", None),
    ("denki.", "instant", "", "156.0"),
    ("supertwin.cgroup.memory.", "instant", "byte", CGROUPS),
    ("supertwin.cgroup.", "counter", "nanosec", CGROUPS),
)
_COMPONENTS = {"cpu": "thread", "node": "numa"}


def load_world(fuseki: str, series: str, world: World) -> None:
    """Fill the dataset ``twin`` of a Fuseki, and a VictoriaMetrics."""
    with Endpoint(f"{fuseki}/twin") as twin:
        twin.update("DROP ALL")
    quads = "".join(_quads(_graphs(host)) for host in world.hosts)
    _post(f"{fuseki}/twin/data", quads.encode(), "application/n-quads")
    body = b"\n".join(_lines(world))
    for path, content in (("/api/v1/import", body), ("/internal/force_flush", b"")):
        _post(series + path, content, "application/json")


def _post(address: str, content: bytes, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    answer = httpx.post(address, content=content, headers=headers, timeout=120)
    answer.raise_for_status()


def _quads(graphs: Mapping[URIRef, Triples]) -> str:
    """N-Quads of some graphs, and of what follows from them."""
    return "".join(
        line.removesuffix(" .") + f" <{graph}> .\n"
        for graph, triples in with_entailed(graphs, IRIS).items()
        for line in triples.ntriples().splitlines()
    )


def _graphs(host: Host) -> dict[URIRef, Triples]:
    described = describe(check_document(_document(host)), IRIS)
    register = Triples()
    register.link(IRIS.host(host.name), {ST["partition"]: host.partition})
    return {
        IRIS.twin_graph(host.name): Triples([*described.twin, *described.probe]),
        IRIS.metrics_graph: described.metrics,
        **described.pmus,
        IRIS.register_graph(host.name): register,
        IRIS.plans_graph(host.name): _plans(host),
        IRIS.cgroups_graph(host.name): _cgroups(host),
        **{IRIS.observation_graph(run.id): _run(host, run) for run in host.runs},
    }


def _document(host: Host) -> dict[str, Any]:
    facts = _facts(host) | ({"pcp": _pcp(host)} if host.series else {})
    outcome = {"ok": True, "seconds": 0.0, "reason": None}
    return {
        "format": "supertwin-probe/1",
        "host": host.name,
        "started": host.probed,
        "ended": host.probed,
        "sources": dict.fromkeys(facts, outcome),
        "facts": facts,
    }


def _facts(host: Host) -> dict[str, Any]:
    shape = host.shape
    cpu = {
        "vendor": "AcmeVendor",
        "name": shape.model,
        "microcode": "0x1",
        "flags": shape.flags,
    }
    return {
        "hwloc": parse_hwloc(topology(shape.text)) | {"pci": _pci(host)},
        "os": {
            "hostname": host.name,
            "os_name": "Debian GNU/Linux 12 (bookworm)",
            "kernel": host.kernel,
            "architecture": "x86_64",
            "machine_id": f"{host.name:0>32}",
            "memory": host.memory,
        },
        "board": {"bios": {"version": host.bios}},
        "cpu": {"sockets": {str(n): cpu for n in range(shape.sockets)}},
        "numa_distances": _distances(host),
        "disks": [
            {"name": d.name, "size": d.size, "rotational": d.rotational}
            for d in host.disks
        ],
        "nics": [_nic(nic) for nic in host.nics],
    }


def _nic(nic: Any) -> dict[str, Any]:
    return {
        "name": nic.name,
        "speed": nic.speed,
        "up": True,
        "virtual": False,
        "driver": nic.driver,
        "ipv4": nic.address or None,
    }


def _pci(host: Host) -> list[dict[str, Any]]:
    """The network cards, each near to a NUMA domain."""
    found = []
    for nic in host.nics:
        near = host.shape.of("domain", nic.domain)
        device = {"name": nic.name, "kinds": ["network"], "threads": near}
        found.append(
            {
                "busid": nic.pci,
                "class_id": "0200",
                "bridge": False,
                "parent": None,
                "threads": near,
                "os_devices": [device],
            }
        )
    return found


def _distances(host: Host) -> list[dict[str, int]]:
    count = range(host.shape.count("domain"))
    return [
        {"from": a, "to": b, "value": distance(host, a, b)}
        for a in count
        for b in count
    ]


def distance(host: Host, first: int, second: int) -> int:
    """10 to itself, 12 within a socket, 21 to another socket."""
    if first == second:
        return 10
    width = host.shape.domains
    return 12 if first // width == second // width else 21


def _kind(metric: str) -> tuple[str, str, str, str | None]:
    return next(kind for kind in _METRICS if metric.startswith(kind[0]))


def _pcp(host: Host) -> dict[str, Any]:
    metrics, domains = [], {}
    for number, name in enumerate(dict.fromkeys(name for name, _ in host.series)):
        _, semantics, units, domain = _kind(name)
        type_ = "double" if semantics == "instant" else "u64"
        metrics.append(
            {
                "name": name,
                "pmid": f"60.0.{number}",
                "type": type_,
                "semantics": semantics,
                "units": units,
                "indom": domain,
                "help": None,
            }
        )
        if domain and domain != CGROUPS:
            names = [instance for instance, _ in host.of(name)]
            pairs = [[instance, place] for place, instance in enumerate(names)]
            domains[domain] = {"stored": True, "instances": pairs}
    return {"metrics": metrics, "indoms": domains, "pmdas": {"60": "linux"}}


def _plans(host: Host) -> Triples:
    """Plan `faults` samples page faults, `slow` the load again, `monitor` all else."""
    found = Triples()
    for name in dict.fromkeys(name for name, _ in host.series):
        if not name.startswith("supertwin.cgroup."):
            plan = "faults" if name == FAULTS else "monitor"
            _sample(found, host, plan, PERIOD, name)
    if host.series:
        _sample(found, host, "slow", 2 * PERIOD, "kernel.all.load")
    return found


def _sample(found: Triples, host: Host, plan: str, period: float, name: str) -> None:
    instances = {instance: _component(host, instance) for instance, _ in host.of(name)}
    metric = IRIS.metric(name)
    describe_sampling(found, IRIS, host.name, plan, period, name, metric, instances)


def _component(host: Host, instance: str | None) -> URIRef:
    """The thread, domain, disk or interface that an instance is about, or the host."""
    text = instance or ""
    for prefix, kind in _COMPONENTS.items():
        if text.startswith(prefix):
            return IRIS.component(host.name, kind, text.removeprefix(prefix))
    for kind, devices in (("nic", host.nics), ("disk", host.disks)):
        if text in [device.name for device in devices]:  # type: ignore[attr-defined]
            return IRIS.component(host.name, kind, text)
    return IRIS.host(host.name)


def _cgroups(host: Host) -> Triples:
    metrics = [name for name, _ in host.series if name.startswith("supertwin.cgroup.")]
    found, planned = Triples(), []
    for name in dict.fromkeys(metrics):
        metric, domain = IRIS.metric(name), IRIS.instance_domain(CGROUPS)
        plan = describe_sampling(
            found, IRIS, host.name, "monitor", PERIOD, name, metric, {}
        )
        planned.append(PlannedCgroupMetric(name, metric, domain, CGROUPS, plan))
    lives = [_life(job, tuple(dict.fromkeys(metrics))) for job in host.jobs]
    for triples in describe_cgroups(IRIS, host.name, lives, planned).values():
        found += triples
    return found


def _life(job: Job, metrics: tuple[str, ...]) -> CgroupLife:
    limits = CgroupLimits(
        cpus=job.cpus, memory=job.memory_limit, cpu_share=job.cpu_limit
    )
    ended = None if job.ended is None else 1000 * job.ended
    return CgroupLife(job.path, 1000 * job.began, (1,), {}, limits, metrics, ended)


def _run(host: Host, run: Launch) -> Triples:
    spec = RunSpec(host.name, run.command, run.cpus, run.policy)
    started = {"pid": 7, "start_ticks": 8, "boot": "b", "user": "alice"}
    ended = {"exit": run.exit, "signal": None, "timed_out": False, "cancelled": False}
    span = Milliseconds(1000 * run.span.start, 1000 * run.span.end)
    observed = Observation(run.id, spec, Run(started, span, ended), {}, [])
    return describe_observation(observed, IRIS)


def _lines(world: World) -> Iterator[bytes]:
    """VictoriaMetrics' JSON lines, one for each series."""
    span = Span(world.end - BEFORE, world.end + AFTER)
    for host in world.hosts:
        for (name, instance), level in host.series.items():
            labels = {"__name__": series_name(name), "hostname": host.name}
            if instance is not None:
                labels["instname"] = instance
            yield orjson.dumps({"metric": labels} | _points(name, level, span))


def _points(name: str, level: Level, span: Span) -> Mapping[str, list[Any]]:
    times = list(level.ticks(span))
    value = level.counted if _kind(name)[1] == "counter" else level.at
    values = [value(time) for time in times]
    return {"values": values, "timestamps": [1000 * time for time in times]}
