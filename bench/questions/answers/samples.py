"""Answers that need the samples and other facts about what they were taken of."""

from collections import defaultdict
from collections.abc import Iterator

from bench.questions.answers.answer import (
    Answer,
    Params,
    Row,
    above,
    column_names,
    seconds,
    span,
)
from bench.questions.facts import Host, Job, Launch, World
from bench.questions.levels import Level, Span

_POWER = "denki.rapl.rate"


def _sampled(world: World, p: Params) -> list[Host]:
    return [host for host in world.some(p["host"]) if host.series]


def _neighbours(world: World, p: Params) -> Iterator[Row]:
    steps = span(world, p).steps(seconds(p["step"]))
    part = f"l{p['level']}"
    for host in _sampled(world, p):
        for instance, level in host.of(p["metric"]):
            of = int((instance or "cpu").removeprefix("cpu"))
            peak = max(level.rate(step) for step in steps)
            if above(peak, p["above"]):
                for cpu in host.shape.of(part, host.shape.place(of, part)):
                    if cpu != of:
                        yield host.name, cpu, of, peak


def _sockets(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        for socket, busy in _busy_sockets(host, span(world, p)):
            yield host.name, socket, busy


def _busy_sockets(host: Host, within: Span) -> Iterator[tuple[int, float]]:
    for socket in range(host.shape.sockets):
        cpus = host.shape.of("socket", socket)
        yield socket, host.mean_busy(cpus, within)


def _uneven(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        busy = [share for _, share in _busy_sockets(host, span(world, p))]
        if above(max(busy) - min(busy), p["least"]):
            yield host.name, min(busy), max(busy)


def _siblings(world: World, p: Params) -> Iterator[Row]:
    within = span(world, p)
    for host in _sampled(world, p):
        crowded = idle = 0
        for core in range(host.shape.all_cores):
            cpus = host.shape.of("core", core)
            shares = [host.busy(cpu, within) for cpu in cpus]
            crowded += len(cpus) > 1 and above(min(shares), p["busy"])
            idle += not above(max(shares), 0.1 * p["busy"])
        if crowded and idle:
            yield host.name, crowded, idle


def _domains(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        for domain in range(host.shape.count("domain")):
            level = host.series["mem.numa.util.free", f"node{domain}"]
            cpus, free = host.shape.of("domain", domain), 1024 * level.at(world.end)
            busy = host.mean_busy(cpus, span(world, p))
            yield host.name, domain, busy, free


def _idle_hosts(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        busy = host.mean_busy(host.shape.cpus, span(world, p))
        if not above(busy, p["below"]):
            yield host.name, busy, len(host.shape.cpus)


def _overloaded(world: World, p: Params) -> Iterator[Row]:
    steps = span(world, p).steps(seconds(p["step"]))
    for host in _sampled(world, p):
        level, threads = (
            host.series["kernel.all.load", "1 minute"],
            len(host.shape.cpus),
        )
        load = max(level.mean(step) for step in steps)
        if above(load, p["above"] * threads):
            yield host.name, load, threads


def _free_memory(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        least = 1024 * min(host.series["mem.util.free", None].values(span(world, p)))
        if not above(least / host.memory, p["below"]):
            yield host.name, least, host.memory


def _misses(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        for domain in range(host.shape.count("domain")):
            level = host.series["mem.numa.alloc.miss", f"node{domain}"]
            rate = level.rate(span(world, p))
            if above(rate, p["above"]):
                yield host.name, domain, rate


def _hot(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        for (metric, _), level in host.series.items():
            if metric.startswith("lmsensors."):
                values = level.values(span(world, p))
                if above(max(values), p["above"]):
                    yield host.name, metric, max(values), sum(values) / len(values)


def _watts(host: Host, within: Span) -> float:
    return sum(level.mean(within) for _, level in host.of(_POWER))


def _power(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        watts = _watts(host, world.last(60 * p["hours"]))
        yield host.name, watts, watts * p["hours"]


def _partition_power(world: World, p: Params) -> Iterator[Row]:
    found: dict[str, list[float]] = defaultdict(list)
    for host in world.sampled:
        if p["partition"] in (None, host.partition):
            found[host.partition].append(_watts(host, span(world, p)))
    for partition, watts in found.items():
        yield partition, sum(watts), len(watts)


def _links(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        for nic in host.nics:
            received, sent = (
                host.series[f"network.interface.{way}.bytes", nic.name].rate(
                    span(world, p)
                )
                for way in ("in", "out")
            )
            share = 8 * max(received, sent) / nic.speed
            if above(share, p["above"]):
                yield host.name, nic.name, received, sent, share


def _link_errors(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        for nic in host.nics:
            for way in ("in", "out"):
                metric = f"network.interface.{way}.errors"
                growth = host.series[metric, nic.name].growth(span(world, p))
                if growth:
                    yield host.name, nic.name, metric, growth


def _disks(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        for disk in host.disks:
            level = host.series["disk.dev.avactive", disk.name]
            busy = level.rate(span(world, p)) / 1000
            if above(busy, p["above"]):
                yield host.name, disk.name, busy, disk.rotational


def _near_device(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        for nic in host.nics if host.shape.count("domain") > 1 else ():
            if nic.name == p["name"]:
                for cpu in host.shape.of("domain", nic.domain):
                    yield host.name, cpu, host.busy(cpu, span(world, p)), nic.domain


def _of_running(
    world: World, p: Params, metric: str
) -> Iterator[tuple[Host, Job, Level]]:
    """The running jobs with their series of a metric."""
    for host in _sampled(world, p):
        for job in host.running:
            yield host, job, host.series[f"supertwin.cgroup.{metric}", job.path]


def _job_cpus(world: World, p: Params) -> Iterator[Row]:
    for host, job, level in _of_running(world, p, "cpu.usage"):
        used, threads = level.rate(span(world, p)) / 1e9, len(job.cpus)
        if not above(used / threads, p["below"]):
            yield host.name, job.job, job.user, used, threads


def _job_memory(world: World, p: Params) -> Iterator[Row]:
    for host, job, level in _of_running(world, p, "memory.usage"):
        most = max(level.values(span(world, p)))
        if above(most / job.memory_limit, p["above"]):
            yield host.name, job.job, job.user, most, job.memory_limit


def _job_throttling(world: World, p: Params) -> Iterator[Row]:
    for host, job, level in _of_running(world, p, "cpu.throttled_time"):
        if rate := level.rate(span(world, p)):
            yield host.name, job.job, job.user, rate / 1e9


def _job_threads(world: World, p: Params) -> Iterator[Row]:
    for host in _sampled(world, p):
        for job in host.running:
            if p["job"] in (None, job.job):
                for cpu in job.cpus:
                    yield host.name, job.job, cpu, host.busy(cpu, span(world, p))


def _jobs(world: World, p: Params) -> Iterator[tuple[Host, Job, Span]]:
    for host in _sampled(world, p):
        for job in host.jobs:
            if p["job"] in (None, job.job):
                yield host, job, job.span(world.end)


def _job_metric(world: World, p: Params) -> Iterator[Row]:
    for host, job, within in _jobs(world, p):
        for instance, level in host.of(p["metric"]):
            values = level.values(within)
            mean = sum(values) / len(values)
            yield host.name, job.job, instance, min(values), mean, max(values)


def _job_power(world: World, p: Params) -> Iterator[Row]:
    for host, job, within in _jobs(world, p):
        watts = _watts(host, within)
        if above(watts, p["above"]):
            yield host.name, job.job, watts


def _user_cpu(world: World, p: Params) -> Iterator[Row]:
    took: dict[str, float] = defaultdict(float)
    jobs: dict[str, set[str]] = defaultdict(set)
    for _, job, level in _of_running(world, p, "cpu.usage"):
        took[job.user] += level.growth(span(world, p)) / 1e9
        jobs[job.user].add(job.job)
    for user, cpu_seconds in took.items():
        yield user, cpu_seconds, len(jobs[user])


def _runs(world: World, p: Params) -> Iterator[tuple[Host, Launch]]:
    for host in _sampled(world, p):
        for run in host.runs:
            if (p["text"] or "") in run.text:
                yield host, run


def _run_metric(world: World, p: Params) -> Iterator[Row]:
    for host, run in _runs(world, p):
        for instance, level in host.of(p["metric"]):
            values = level.values(run.span)
            mean = sum(values) / len(values)
            yield host.name, run.text, instance, min(values), mean, max(values)


def _run_neighbours(world: World, p: Params) -> Iterator[Row]:
    part = f"l{p['level']}"
    for host, run in _runs(world, p):
        shape = host.shape
        caches = {shape.place(cpu, part) for cpu in run.cpus}
        for cpu in shape.cpus:
            if shape.place(cpu, part) in caches and cpu not in run.cpus:
                share = host.busy(cpu, run.span)
                if above(share, p["busy"]):
                    yield host.name, run.text, cpu, share


ANSWERS = {
    f"samples/{name}": Answer(column_names(columns), compute)
    for name, columns, compute in (
        ("cache-neighbours", "host cpu of peak", _neighbours),
        ("sockets", "host number busy", _sockets),
        ("uneven", "host idlest busiest", _uneven),
        ("siblings", "host crowded idle", _siblings),
        ("domains", "host numa busy free", _domains),
        ("idle-hosts", "host busy threads", _idle_hosts),
        ("overloaded", "host load threads", _overloaded),
        ("free-memory", "host least memory", _free_memory),
        ("numa-misses", "host numa rate", _misses),
        ("hot", "host metric greatest mean", _hot),
        ("power", "host power energy", _power),
        ("partition-power", "partition power hosts", _partition_power),
        ("links", "host device received sent share", _links),
        ("link-errors", "host device metric growth", _link_errors),
        ("disks", "host device busy rotational", _disks),
        ("near-device", "host cpu busy numa", _near_device),
        ("job-cpus", "host job user used threads", _job_cpus),
        ("job-memory", "host job user most memoryLimit", _job_memory),
        ("job-throttling", "host job user waited", _job_throttling),
        ("job-threads", "host job cpu busy", _job_threads),
        ("job-metric", "host job instance least mean greatest", _job_metric),
        ("job-power", "host job power", _job_power),
        ("user-cpu", "user seconds jobs", _user_cpu),
        ("run-metric", "host command instance least mean greatest", _run_metric),
        ("run-neighbours", "host command cpu share", _run_neighbours),
    )
}
