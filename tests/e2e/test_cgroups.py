"""A job from its start to its end: its twin, its samples, its plans and counters."""

import json
import time
from collections.abc import Iterator

import httpx
import pytest

from ontology.terms import ST
from tests.cgroup_folders import Folders, cgroup_folders
from tests.servers import wait_until
from tests.stack import HOST, Stack

USAGE, MEMORY = "supertwin.cgroup.cpu.usage", "supertwin.cgroup.memory.usage"
FAULTS = "supertwin.cgroup.memory.stat.pgfault"


@pytest.fixture
def folders() -> Iterator[Folders]:
    with cgroup_folders("slurm_e2e") as made:
        yield made


def groups(stack: Stack) -> list[list[str]]:
    """Return path and IRI of the control groups that run."""
    return stack.sparql(
        f"""SELECT ?path ?group {{ ?group <{ST.cgroupPath}> ?path
          FILTER NOT EXISTS {{ ?group <{ST.endedAt}> ?end }} }} ORDER BY ?path"""
    )


def plans(stack: Stack) -> set[str]:
    """Return the names of all plans."""
    rows = stack.sparql(f"SELECT DISTINCT ?name {{ ?plan <{ST.planName}> ?name }}")
    return {name for (name,) in rows}


def points(stack: Stack, instance: str, metric: str = USAGE) -> dict[int, float]:
    """Return the points of a group's metric by millisecond."""
    series = f'{metric.replace(".", "_")}{{instname="{instance}"}}'
    asked = {"match[]": series, "end": str(time.time() + 5)}
    answer = httpx.get(f"{stack.store}/api/v1/export", params=asked, timeout=120)
    blocks = [json.loads(line) for line in answer.text.splitlines()]
    pairs = [zip(b["timestamps"], b["values"], strict=True) for b in blocks]
    return dict(sorted(pair for block in pairs for pair in block))


def why(stack: Stack, instance: str) -> str:
    return stack.run("why", HOST, USAGE, instance, check=False).stdout


def test_job_is_sampled_from_start_to_end(stack: Stack, folders: Folders) -> None:
    monitored = plans(stack)
    job = folders.make("uid_1000/job_4711")
    step = folders.make("uid_1000/job_4711/step_0")
    wait_until(lambda: [path for path, _ in groups(stack)] == [job, step])
    folders.put("uid_1000/job_4711/step_0", "sh", "-c", "while :; do :; done")
    wait_until(lambda: points(stack, step), what="its values")
    page = groups(stack)[1][1].removeprefix(stack.base)
    wait_until(lambda: USAGE in stack.get(page, "text/html").text, what="its series")
    assert stack.get(page, "application/ld+json").json()["@context"]
    # One plan samples one group ten times a second, another the whole job.
    stack.run("sample", "add", USAGE, "--period", "100ms", "--instance", step)
    by_job = ("--query", "cgroups/of-job", "--param", "job=4711")
    stack.run("sample", "add", MEMORY, "--period", "500ms", *by_job)
    wait_until(lambda: any(ms % 1000 for ms in points(stack, step)), what="tenths")
    assert len(plans(stack) - monitored) == 2
    folders.processes[0].kill()
    folders.processes[0].wait()
    folders.remove("uid_1000")
    wait_until(lambda: not groups(stack), what="the end of the groups")
    wait_until(lambda: plans(stack) == monitored, what="the end of their plans")
    assert job in stack.run("cgroups", "list", "--ended").stdout
    wait_until(lambda: "cgroup ended" in why(stack, step), what="no more values")
    ended = stack.get(page, "text/turtle").text
    assert "st:endedAt" in ended
    assert "/telemetry/" not in ended
    values = [*points(stack, step).values()]
    assert values == sorted(values), "a counter that fell holds a false value"


def test_metric_that_no_group_is_sampled_for_can_be_added(
    stack: Stack, folders: Folders
) -> None:
    monitored = plans(stack)
    step = folders.make("uid_1000/job_4713/step_0")
    wait_until(lambda: step in [path for path, _ in groups(stack)], what="its twin")
    names = stack.sparql(f"SELECT ?name {{ ?metric <{ST.samplerName}> ?name }}")
    assert [FAULTS] in names
    folders.put("uid_1000/job_4713/step_0", "sh", "-c", "while :; do /bin/true; done")
    of_job = ("--query", "cgroups/of-job", "--param", "job=4713")
    stack.run("sample", "add", FAULTS, "--period", "200ms", *of_job)
    wait_until(lambda: points(stack, step, FAULTS), what="its faults")
    found = points(stack, step, FAULTS)
    assert max(found.values()) > 0
    assert ": data" in stack.run("why", HOST, FAULTS, step).stdout
    folders.processes[0].kill()
    folders.processes[0].wait()
    folders.remove("uid_1000")
    wait_until(lambda: plans(stack) == monitored, what="the end of the plan")


def test_counters_of_a_job_are_free_after_it(stack: Stack, folders: Folders) -> None:
    monitored = plans(stack)
    step = folders.make("uid_1000/job_4712/step_0")
    folders.put("uid_1000/job_4712/step_0", "sleep", "1000")
    wait_until(lambda: step in [path for path, _ in groups(stack)], what="its twin")
    # Not every machine has CPU sets that a test may change, so write them to the graph:
    # to the test's own, because that of the groups is rewritten when a group changes.
    cpu_sets = f"GRAPH <{stack.base}/graph/test/cpu-sets>"
    stack.update(
        f"""INSERT {{ {cpu_sets} {{ ?group <{ST.mayRunOn}> ?thread }} }} WHERE {{
          ?group <{ST.cgroupPath}> "{step}" .
          ?thread a <{ST.HardwareThread}> }}"""
    )
    of_job = ("--query", "cgroups/job-threads", "--param", "job=4712")
    event = ("--event", "software::page-faults", "--period", "1s")
    stack.run("sample", "add", *event, *of_job, "--plan", "counted")
    assert counted(stack)
    folders.processes[0].kill()
    folders.processes[0].wait()
    folders.remove("uid_1000")
    wait_until(lambda: plans(stack) == monitored, what="the end of the plan")
    wait_until(lambda: not counted(stack), what="the end of its counters")
    stack.update(f"DROP {cpu_sets}")


def counted(stack: Stack) -> list[list[str]]:
    """Return the metrics of PMU events in the twin."""
    return stack.sparql(
        f"""SELECT ?name {{ ?node <{ST.exposes}>/<{ST.samplerName}> ?name
          FILTER (STRSTARTS(?name, "perfevent.hwcounters.")) }}"""
    )
