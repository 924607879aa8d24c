"""Control groups in a real graph store: they begin, change, end and are removed."""

from collections.abc import Iterator
from typing import Any

import pytest
from rdflib import URIRef

from core.linux.cgroups.groups import CgroupLimits
from core.linux.cgroups.ledger import CgroupLife, Ledger
from ingest.describe.cgroup import cgroup_iri
from ingest.description import describe
from ingest.hwloc.read import parse_hwloc
from ingest.load.publish import TwinStores, publish
from ingest.schema.check import check_document
from ontology.iris import stated
from ontology.terms import ST
from queries.catalogue import saved_query
from sampling.cgroup_twins import CgroupTwins
from sampling.monitoring import with_bridge
from sampling.plans.request import PlanRequest
from sampling.plans.store import add_plan, plan_names
from sampling.sources.cgroup_metrics import DOMAIN, PREFIX
from shapes.validate import validate
from tests.following import assert_following
from tests.ingest.documents import IRIS, PCP, document, synthetic

HOST, USAGE, PIDS = "n1", PREFIX + "cpu.usage", PREFIX + "pids.current"
JOB, STEP = "/slurm/uid_1000/job_7", "/slurm/uid_1000/job_7/step_0"
ALLOWED = CgroupLimits(("cpuset", "pids"), (0, 1), 1 << 28, 1.5, 64)


def life(path: str, began: int = 1_795_000_000_000, **known: Any) -> CgroupLife:
    given = {"allowed": ALLOWED, "metrics": (USAGE, PIDS), **known}
    return CgroupLife(path, began, (1,), {"/cg": began % 1000}, **given)


def listed(running: list[CgroupLife], ended: list[CgroupLife] | None = None) -> Ledger:
    return Ledger("boot", {one.path: one for one in running}, ended or [])


@pytest.fixture
def twins(store: TwinStores) -> Iterator[CgroupTwins]:
    read = check_document(document({"pcp": PCP, "hwloc": hwloc()}, HOST))
    described = describe(with_bridge(read), IRIS, [USAGE, PIDS])
    publish(described, store, IRIS)
    yield CgroupTwins(store.twin, IRIS, HOST, DOMAIN)
    assert_following(store.twin, IRIS)


def hwloc() -> dict[str, Any]:
    return parse_hwloc(synthetic("pack:1 core:2 pu:1"))


def write(twins: CgroupTwins, ledger: Ledger) -> bool:
    change = twins.pending(ledger)
    if change is not None:
        twins.write(change)
    return change is not None


def rows(store: TwinStores, query: str, **params: str) -> list[list[Any]]:
    return store.twin.select(saved_query(query).bind(params)).values()


def test_job_is_described_with_its_limits_and_series(
    twins: CgroupTwins, store: TwinStores
) -> None:
    assert write(twins, listed([life(JOB), life(STEP, metrics=(USAGE,))]))
    (job, step) = rows(store, "cgroups/running", host=HOST)
    assert job[1:9] == ["7", None, "1000", JOB, 2, 1 << 28, 1.5, 64]
    assert step[1:5] == ["7", "0", "1000", STEP]
    sampled = rows(store, "telemetry/sampled", host=HOST)
    assert [(r[1], r[2], r[3]) for r in sampled if r[1].startswith(PREFIX)] == [
        (USAGE, JOB, job[-1]),
        (USAGE, STEP, step[-1]),
        (PIDS, JOB, job[-1]),
    ]
    threads = rows(store, "cgroups/job-threads", host=HOST, job="7")
    assert [row[2] for row in threads] == [0, 1]
    facts = stated("?s ?p ?o")
    graph = store.twin.construct(f"CONSTRUCT {{ ?s ?p ?o }} {{ {facts} }}")
    entries = [
        line for line in validate(graph).lines if "cgroup" in line or "513" in line
    ]
    assert not entries
    parent = cgroup_iri(IRIS, HOST, life(JOB))
    assert (URIRef(step[-1]), ST.parentCgroup, parent) in graph


def test_unchanged_groups_are_not_written_again(
    twins: CgroupTwins, store: TwinStores
) -> None:
    ledger = listed([life(JOB)], [life("/old", ended=1_795_000_000_500)])
    assert write(twins, ledger)
    assert not write(twins, ledger)
    # A new instance does not know what was written, and writes the same again.
    before = store.twin.construct("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }")
    again = CgroupTwins(store.twin, IRIS, HOST, DOMAIN)
    assert write(again, ledger)
    assert {*store.twin.construct("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }")} == {*before}


def test_ended_group_is_recorded_and_the_oldest_removed(
    twins: CgroupTwins, store: TwinStores
) -> None:
    write(twins, listed([life(JOB)]))
    end = 1_795_000_009_000
    write(twins, listed([], [life(JOB, ended=end)]))
    (row,) = rows(store, "cgroups/ended", host=HOST)
    assert row[4] == JOB
    assert row[6].timestamp() * 1000 == end
    assert rows(store, "cgroups/running", host=HOST) == []
    # The sampled components are gone; only the names of their series remain.
    left = f"ASK {{ ?series <{ST.ofComponent}> <{row[-1]}> }}"
    assert not store.twin.ask(left)
    series = rows(store, "cgroups/series", host=HOST, job="7", metric=USAGE)
    assert [r[3] for r in series] == [
        f'supertwin_cgroup_cpu_usage{{hostname="{HOST}",instname="{JOB}"}}'
    ]
    # The same path at a later time is another group.
    later = life(JOB, end + 1000)
    write(twins, listed([later], [life(JOB, ended=end)]))
    both = rows(store, "cgroups/of-job", job="7")
    assert [row[-1] for row in both] == [
        str(cgroup_iri(IRIS, HOST, later)),
        str(cgroup_iri(IRIS, HOST, life(JOB))),
    ]
    other = life("/other")
    write(twins, listed([later, other], [life(JOB, ended=end)]))
    write(twins, listed([later, other]))
    assert len(rows(store, "cgroups/of-job", job="7")) == 1
    names = {(r[1], r[2]) for r in rows(store, "telemetry/sampled", host=HOST)}
    assert {(name, path) for name in (USAGE, PIDS) for path in (JOB, "/other")} <= names


def test_changed_limits_are_reported_again(
    twins: CgroupTwins, store: TwinStores
) -> None:
    write(twins, listed([life(JOB, allowed=CgroupLimits())]))
    write(twins, listed([life(JOB)]))
    (row,) = rows(store, "cgroups/running", host=HOST)
    assert row[5:9] == [2, 1 << 28, 1.5, 64]
    write(twins, listed([life(JOB, allowed=CgroupLimits(cpus=(1,)))]))
    (row,) = rows(store, "cgroups/running", host=HOST)
    assert row[5:9] == [1, None, None, None]


def test_plans_added_for_a_job_end_with_it(
    twins: CgroupTwins, store: TwinStores
) -> None:
    other = life("/slurm/uid_1000/job_8")
    write(twins, listed([life(JOB), life(STEP), other]))

    def add(
        name: str, metric: str, query: str = "", job: str = "", *named: str
    ) -> None:
        given = {"job": job} if job else {}
        request = PlanRequest(HOST, name, (metric,), 100, query, given, named)
        add_plan(request, store.twin, IRIS)

    add("step", USAGE, "", "", STEP)
    add("both", USAGE, "", "", JOB, other.path)
    add("soon", USAGE, "", "", "/slurm/uid_1000/job_9")
    add("job", USAGE, "cgroups/of-job", "7")
    add("threads", "kernel.percpu.cpu.user", "cgroups/job-threads", "7")
    add("every", USAGE, "cgroups/running")
    add("cpu0", "kernel.percpu.cpu.user", "", "", "cpu0")
    assert not write(twins, listed([life(JOB), life(STEP), other]))
    ended = [life(STEP, ended=5), life(JOB, ended=5)]
    assert write(twins, listed([other], ended))
    left = ["both", "cpu0", "every", "monitor", "soon"]
    assert plan_names(HOST, store.twin) == left
    write(twins, listed([], [*ended, life(other.path, ended=6)]))
    assert plan_names(HOST, store.twin) == ["cpu0", "monitor", "soon"]


def test_host_missing_in_the_twin_has_no_groups(store: TwinStores) -> None:
    twins = CgroupTwins(store.twin, IRIS, HOST, DOMAIN)
    assert not write(twins, listed([life(JOB)]))
    assert not store.twin.ask("ASK { ?s ?p ?o }")
