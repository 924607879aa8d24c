"""Answers about machines, their memory, their devices, and where to run threads."""

from collections import Counter
from collections.abc import Iterator
from datetime import date

from bench.questions.answers.answer import Answer, Params, Row, column_names
from bench.questions.facts import CACHES, GIB, Host, World
from bench.questions.load import distance

_PARTS = {"l1": "l1", "l2": "l2", "l3": "l3", "numa": "domain"}


def _hosts(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        shape = host.shape
        metrics = len({name for name, _ in host.series})
        size = (shape.sockets, shape.all_cores, len(shape.cpus))
        yield host.name, *size, host.memory, host.kernel, metrics


def _sharing(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        part = f"l{p['level']}"
        for cpu in host.shape.of(part, host.shape.place(p["cpu"], part)):
            if cpu != p["cpu"]:
                yield host.name, cpu


def _groups(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for stem, (level, _, size) in CACHES.items():
            if p["level"] in (None, level):
                for number in range(host.shape.count(stem)):
                    cpus = ",".join(map(str, host.shape.of(stem, number)))
                    yield host.name, level, size, cpus


def _sizes(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for stem, (level, _, size) in CACHES.items():
            yield host.name, level, host.shape.count(stem), size


def _places(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for cpu in host.shape.cpus:
            yield host.name, cpu, host.shape.place(cpu, "domain")


def _of_socket(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for cpu in host.shape.of("socket", p["socket"]):
            yield host.name, cpu


def _matching(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        shape = host.shape
        enough = (
            shape.count("domain") >= p["numa"]
            and shape.sockets >= p["sockets"]
            and len(shape.cpus) >= p["threads"]
            and host.memory >= (p["memory"] or 0) * GIB
        )
        fits = p["flag"] in (None, *shape.flags) and (p["model"] or "") in shape.model
        if enough and fits:
            yield (host.name,)


def _flags(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for socket in range(host.shape.sockets):
            for flag in host.shape.flags:
                if p["flag"] in (None, flag):
                    yield host.name, socket, flag


def _processors(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        shape = host.shape
        for _ in range(shape.sockets):
            threads = shape.in_socket * shape.threads
            yield host.name, shape.model, shape.in_socket, threads


def _models(world: World, p: Params) -> Iterator[Row]:
    shapes = [host.shape for host in world.hosts]
    for model, hosts in Counter(shape.model for shape in shapes).items():
        if (p["text"] or "") in model:
            sockets = sum(s.sockets for s in shapes if s.model == model)
            yield model, sockets, hosts


def _partitions(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        if p["partition"] in (None, host.partition):
            yield host.partition, host.name


def _systems(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        domains = host.shape.count("domain")
        yield host.name, "x86_64", host.kernel, host.bios, domains


def _disks(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for disk in host.disks:
            yield host.name, disk.name, disk.size, disk.rotational


def _nics(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for nic in host.nics:
            yield host.name, nic.name, nic.address or None, nic.speed, nic.driver


def _names(world: World, p: Params) -> Iterator[Row]:
    for host in world.hosts:
        own = {host.name, *(nic.address for nic in host.nics if nic.address)}
        for name in own if p["name"] is None else own & {p["name"]}:
            yield name, host.name


def _domains(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        shape = host.shape
        for domain in range(shape.count("domain")):
            cpus = ",".join(map(str, shape.of("domain", domain)))
            yield host.name, domain, shape.memory, cpus


def _distances(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        count = range(host.shape.count("domain"))
        for first in count:
            for second in count:
                yield host.name, first, second, distance(host, first, second)


def _near(host: Host, name: str | None) -> Iterator[tuple[str, int, list[int]]]:
    """The devices that are nearer to one domain than to others, with its threads."""
    count = host.shape.count("domain")
    for nic in host.nics if count > 1 else ():
        if name in (None, nic.name):
            yield nic.name, nic.domain, host.shape.of("domain", nic.domain)


def _near_devices(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for name, domain, cpus in _near(host, p["name"]):
            yield host.name, name, domain, ",".join(map(str, cpus))


def _distinct_core(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for cpu in range(min(p["count"], host.shape.all_cores)):
            yield host.name, cpu


def _distinct_cache(world: World, p: Params) -> Iterator[Row]:
    part = f"l{p['level']}"
    for host in world.some(p["host"]):
        for number in range(min(p["count"], host.shape.count(part))):
            yield host.name, host.shape.of(part, number)[0]


def _per_numa(world: World, p: Params) -> Iterator[Row]:
    part = p["apart"].lower()
    for host in world.some(p["host"]):
        for domain in range(host.shape.count("domain")):
            first: dict[int, int] = {}
            for cpu in host.shape.of("domain", domain):
                first.setdefault(host.shape.place(cpu, part), cpu)
            for cpu in sorted(first.values())[: p["count"]]:
                yield host.name, cpu


def _tree(host: Host) -> list[int]:
    """The threads in the order of hwloc's tree: core by core."""
    cores = range(host.shape.all_cores)
    return [cpu for core in cores for cpu in host.shape.of("core", core)]


def _compact(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for rank, cpu in enumerate(_tree(host)[: p["threads"]]):
            yield host.name, rank, cpu


def _share(world: World, p: Params) -> Iterator[Row]:
    part = _PARTS.get(p["kind"], p["kind"])
    for host in world.some(p["host"]):
        number = 0 if p["of"] is None else host.shape.place(p["of"], part)
        shared = [cpu for cpu in _tree(host) if host.shape.place(cpu, part) == number]
        if len(shared) >= p["threads"]:
            for rank, cpu in enumerate(shared[: p["threads"]]):
                yield host.name, rank, cpu


def _stale(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        probed = date.fromisoformat(host.probed[:10])
        age = (date.fromisoformat(p["today"]) - probed).days
        if age >= p["days"]:
            yield host.name, age


def _probes(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        yield host.name, "Debian GNU/Linux 12 (bookworm)", 0


def _drift(world: World, p: Params) -> Iterator[Row]:
    hosts = world.hosts
    kinds = {"kernel": [h.kernel for h in hosts], "bios": [h.bios for h in hosts]}
    for kind, values in kinds.items():
        if p["property"] in (None, kind):
            ((usual, _),) = Counter(values).most_common(1)
            for host, value in zip(hosts, values, strict=True):
                if value != usual and p["host"] in (None, host.name):
                    yield kind, host.name, value, usual


ANSWERS = {
    name: Answer(column_names(columns), compute)
    for name, columns, compute in (
        (
            "inventory/hosts",
            "host sockets cores threads memory kernel metrics",
            _hosts,
        ),
        ("cache/sharing", "host cpu", _sharing),
        ("cache/groups", "host level size cpus", _groups),
        ("cache/sizes", "host level caches size", _sizes),
        ("topology/threads", "host cpu numa", _places),
        ("topology/socket-threads", "host cpu", _of_socket),
        ("fleet/matching", "host", _matching),
        ("inventory/cpu-flags", "host number flag", _flags),
        ("inventory/cpu", "host model cores threads", _processors),
        ("fleet/models", "model sockets hosts", _models),
        ("fleet/partitions", "partition host", _partitions),
        ("inventory/system", "host architecture kernel bios numaDomains", _systems),
        ("inventory/disks", "host device size rotational", _disks),
        ("inventory/nics", "host device ipv4 speed driver", _nics),
        ("fleet/find", "name host", _names),
        ("topology/numa", "host numa memory cpus", _domains),
        ("topology/distances", "host from to distance", _distances),
        ("topology/near-devices", "host name numa cpus", _near_devices),
        ("pinning/distinct-core", "host cpu", _distinct_core),
        ("pinning/distinct-cache", "host cpu", _distinct_cache),
        ("pinning/per-numa", "host cpu", _per_numa),
        ("pinning/compact", "host rank cpu", _compact),
        ("pinning/share", "host rank cpu", _share),
        ("fleet/stale", "host age", _stale),
        ("inventory/probes", "host osName failed", _probes),
        ("fleet/drift", "property host value majority", _drift),
    )
}
