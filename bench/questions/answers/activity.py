"""Answers about jobs and runs, from the graph alone."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import combinations

from bench.questions.answers.answer import Answer, Params, Row, above, column_names
from bench.questions.facts import Host, Job, World


def _jobs_of(world: World, p: Params) -> Iterator[tuple[Host, Job]]:
    for host in world.some(p.get("host")):
        for job in host.jobs:
            if p.get("job") in (None, job.job):
                yield host, job


def _running(world: World, p: Params) -> Iterator[Row]:
    for host, job in _jobs_of(world, p):
        if job.ended is None:
            limits = (job.memory_limit, job.cpu_limit)
            yield host.name, job.job, job.user, len(job.cpus), *limits


def _ended(world: World, p: Params) -> Iterator[Row]:
    for host, job in _jobs_of(world, p):
        if job.ended is not None:
            yield host.name, job.job, job.user, job.path


def _of_job(world: World, p: Params) -> Iterator[Row]:
    for host, job in _jobs_of(world, p):
        yield host.name, job.job, job.path


def _threads(world: World, p: Params) -> Iterator[Row]:
    found = {
        (host.name, job.job, cpu)
        for host, job in _jobs_of(world, p)
        if job.ended is None
        for cpu in job.cpus
    }
    yield from sorted(found)


def _text(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat()


def _jobs(world: World, p: Params) -> Iterator[Row]:
    since, until = p["since"], p["until"]
    parts: dict[tuple[str, str], list[tuple[Host, Job]]] = defaultdict(list)
    for host, job in _jobs_of(world, p):
        began, ended = _text(job.began), job.ended and _text(job.ended)
        is_in = (until is None or began < until) and not (
            since and ended and ended < since
        )
        if is_in and p["user"] in (None, job.user):
            parts[job.job, job.user].append((host, job))
    for (id_, user), own in parts.items():
        ends = [job.ended for _, job in own if job.ended is not None]
        began, has_ended = min(job.began for _, job in own), len(ends) == len(own)
        length = max(ends) - began if has_ended else None
        if p["longer"] is None or (length and above(length, p["longer"])):
            yield id_, user, length, len(own)


def _shared(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for cpu in host.shape.cpus:
            jobs = sorted(job.job for job in host.running if cpu in job.cpus)
            if len(jobs) > 1:
                yield host.name, cpu, ",".join(jobs)


def _free(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        taken = {cpu for job in host.running for cpu in job.cpus}
        for cpu in host.shape.cpus:
            if cpu not in taken:
                yield host.name, cpu


def _spread(world: World, p: Params) -> Iterator[Row]:
    for host, job in _jobs_of(world, p):
        domains = {host.shape.place(cpu, "domain") for cpu in job.cpus}
        if job.ended is None and len(domains) >= p["least"]:
            yield host.name, job.job, len(job.cpus), len(domains)


def _runs(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for run in host.runs:
            is_asked = (
                (p["text"] or "") in run.text
                and p["pinned"] in (None, run.policy)
                and p["ended"] in (None, run.outcome)
            )
            if is_asked:
                yield host.name, run.text, run.span.seconds, run.outcome, run.policy


def _on_cpu(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        for run in host.runs:
            if p["cpu"] in run.cpus:
                yield host.name, run.text, run.span.start


def _overlapping(world: World, p: Params) -> Iterator[Row]:
    for host in world.some(p["host"]):
        ordered = sorted(host.runs, key=lambda run: run.span.start)
        for first, then in combinations(ordered, 2):
            if first.span.overlap(then.span):
                yield host.name, first.text, then.text


ANSWERS = {
    name: Answer(column_names(columns), compute)
    for name, columns, compute in (
        ("cgroups/running", "host job user threads memoryLimit cpuLimit", _running),
        ("cgroups/ended", "host job user path", _ended),
        ("cgroups/of-job", "host job path", _of_job),
        ("cgroups/job-threads", "host job cpu", _threads),
        ("cgroups/jobs", "job user seconds hosts", _jobs),
        ("cgroups/shared-threads", "host cpu jobs", _shared),
        ("cgroups/free-threads", "host cpu", _free),
        ("cgroups/spread", "host job threads domains", _spread),
        ("observations/runs", "host command seconds outcome policy", _runs),
        ("observations/on-cpu", "host command started", _on_cpu),
        ("observations/overlapping", "host first then", _overlapping),
    )
}
