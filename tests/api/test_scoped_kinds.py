"""Tokens that are limited to jobs, users or metrics, and to several kinds."""

import pytest

from api.access.tokens import TokenRole
from bench.questions.load import IRIS
from tests.api.servers import code_of
from tests.api.two_hosts import HIDDEN, HOST, TwoHosts

# On the first host run 4711 of alice and 4811 of bob; 4711 also runs on the second.
JOB, USER, OTHER = "4711", "alice", "4811"
PATH, OTHER_PATH = f"/oar/{USER}_{JOB}", f"/oar/bob_{OTHER}"
USAGE, FREE = "supertwin.cgroup.cpu.usage", "mem.util.free"

NAMING_JOBS = {
    "all triples": "SELECT * { ?s ?p ?o }",
    "jobs": "SELECT ?job { ?group st:jobId ?job }",
    "graph": f"SELECT * {{ GRAPH graph:cgroups\\/{HOST} {{ ?s ?p ?o }} }}",
    "paths": "SELECT ?group ?thread { ?group st:mayRunOn/st:isPartOf+ ?thread }",
    "telemetry": "SELECT ?t { ?t st:ofComponent ?group . ?group a st:Cgroup }",
    "entailed": (
        f"SELECT * {{ GRAPH graph:entailed\\/cgroups\\/{HOST} {{ ?s ?p ?o }} }}"
    ),
    "DESCRIBE": "DESCRIBE ?group { ?group a st:Cgroup }",
    "samples": "SELECT ?t ?v { ?t a st:SWTelemetry . ?t st:last (?v) }",
    "FROM": f"SELECT * FROM graph:cgroups\\/{HOST} {{ ?s ?p ?o }}",
}
SCOPES = {
    "job": {"jobs": [JOB]},
    "user": {"users": [USER]},
    "job of a user": {"jobs": [JOB], "users": [USER]},
    "job on a host": {"jobs": [JOB], "hosts": [HOST]},
}


@pytest.mark.parametrize("kinds", SCOPES)
@pytest.mark.parametrize("form", NAMING_JOBS)
def test_other_jobs_are_hidden(
    two: TwoHosts, everything: str, form: str, kinds: str
) -> None:
    assert OTHER in two.sparql(everything, NAMING_JOBS[form]).text
    part = two.sparql(two.token(**SCOPES[kinds]), NAMING_JOBS[form])
    assert part.status_code == 200, part.text
    assert (JOB in part.text, OTHER in part.text) == (True, False)


def test_job_implies_its_hosts(two: TwoHosts) -> None:
    hosts = "SELECT ?h { ?n a st:ComputeNode ; st:hostname ?h }"
    assert two.rows(two.token(jobs=[JOB]), hosts) == [HOST, HIDDEN]
    assert two.rows(two.token(jobs=[OTHER]), hosts) == [HOST]
    assert two.rows(two.token(jobs=[JOB], hosts=[HOST]), hosts) == [HOST]
    assert two.rows(two.token(users=["bob"]), hosts) == [HOST, HIDDEN]
    for none in ({"jobs": ["1"]}, {"jobs": [OTHER], "users": [USER]}):
        assert not two.rows(two.token(**none), hosts)


def test_history_is_that_of_implied_hosts(two: TwoHosts) -> None:
    token = two.token(jobs=[OTHER])
    assert two.ask(token, f"/history/{HOST}").json()["states"]
    assert code_of(two.ask(token, f"/history/{HIDDEN}")) == "unknown-host"
    assert HIDDEN not in two.ask(token, "/queries/history/states.csv").text


def test_samples_of_a_job_are_all_that_is_read(two: TwoHosts, everything: str) -> None:
    """Samples of whole hosts would tell of other jobs."""
    token = two.token(jobs=[JOB], hosts=[HOST])
    own = (
        f'SELECT ?t ?v {{ ?t st:samplerName "{USAGE}" ; st:instname "{PATH}" ; '
        f'st:ofHost twin:{HOST} . ?t st:increase ("now-5m" "now" ?v) }}'
    )
    assert [row.partition(",")[0] for row in two.rows(token, own)] == [
        str(IRIS.telemetry(HOST, USAGE, PATH))
    ]
    for iri in (
        IRIS.telemetry(HOST, FREE, None),
        IRIS.telemetry(HOST, USAGE, OTHER_PATH),
        IRIS.telemetry(HIDDEN, USAGE, PATH),
    ):
        query = f"SELECT ?v {{ VALUES ?t {{ <{iri}> }} ?t st:last (?v) }}"
        assert two.rows(everything, query)
        assert code_of(two.sparql(token, query)) == "unknown-telemetry"


def drawn(two: TwoHosts, token: str, dashboard: str, panel: str) -> list[list[float]]:
    path = f"/dashboards/{dashboard}/series?host={HOST}&panel={panel}"
    answer = two.ask(token, f"{path}&end={two.world.end}")
    assert answer.status_code in (200, 404), answer.text
    return [line for line in answer.json().get("values", []) if any(line)]


def test_charts_and_last_values_are_those_of_the_job(
    two: TwoHosts, everything: str
) -> None:
    token = two.token(jobs=[JOB])
    for panel in ("host-load-average", "threads-busy-threads-socket-0"):
        assert drawn(two, everything, "monitor", panel)
        assert not drawn(two, token, "monitor", panel)
    spec = two.ask(everything, f"/dashboards/jobs?host={HOST}").json()
    panels = [panel["id"] for part in spec["sections"] for panel in part["panels"]]
    pairs = [
        [drawn(two, one, "jobs", panel) for one in (everything, token)]
        for panel in panels
    ]
    # Two jobs run on the host.
    assert (2, 1) in {(len(whole), len(own)) for whole, own in pairs}
    assert all(len(own) < 2 for _, own in pairs)
    assert all(line in whole for whole, own in pairs for line in own)
    path = str(IRIS.telemetry(HOST, FREE, None))[len(IRIS.base) :]
    assert "lastValue" not in two.ask(token, path).text
    path = str(IRIS.telemetry(HOST, USAGE, PATH))[len(IRIS.base) :]
    assert "lastValue" in two.ask(token, path).text
    assert not two.ask(token, "/state").json()["hosts"]
    assert not drawn(two, two.token(jobs=["1"]), "jobs", panels[0])


def test_runs_are_those_of_the_user(two: TwoHosts, everything: str) -> None:
    runs = "SELECT ?run { ?run st:ranOn ?host }"
    assert two.rows(two.token(users=[USER]), runs) == two.rows(everything, runs)
    assert not two.rows(two.token(users=["bob"]), runs)
    assert not two.rows(two.token(jobs=[JOB]), runs)
    path = "/observation/run-1a"
    assert two.ask(two.token(users=[USER]), path).status_code == 200
    assert two.ask(two.token(users=["bob"]), path).status_code == 404


NAMING_METRICS = {
    "all triples": "SELECT ?s ?o { ?s ?p ?o FILTER isIRI(?o) }",
    "catalogue": "SELECT ?name { ?metric st:samplerName ?name }",
    "exposed": "SELECT ?m { ?host st:exposes ?m }",
    "plans": "SELECT ?plan { ?plan a st:SamplingPlan }",
    "graph": "SELECT ?s { GRAPH graph:metrics { ?s ?p ?o } }",
    "telemetry": "SELECT ?t { ?t a st:SWTelemetry }",
    "samples": "SELECT ?t ?v { ?t a st:SWTelemetry . ?t st:last (?v) }",
    "path": "SELECT ?m { ?t st:ofMetric/st:instanceDomain?/^st:ofMetric? ?m }",
}


@pytest.mark.parametrize("form", NAMING_METRICS)
def test_other_metrics_are_hidden(two: TwoHosts, everything: str, form: str) -> None:
    token = two.token(metrics=["mem.util.*"])
    whole, part = (two.sparql(t, NAMING_METRICS[form]) for t in (everything, token))
    assert (whole.status_code, part.status_code) == (200, 200)
    assert "kernel.percpu" in whole.text
    assert (FREE in part.text, "kernel.percpu" in part.text) == (True, False)


def test_samples_of_other_metrics_are_unknown(two: TwoHosts, everything: str) -> None:
    token, idle = two.token(metrics=[FREE]), "kernel.percpu.cpu.idle"
    query = "SELECT ?v {{ VALUES ?t {{ <{}> }} ?t st:last (?v) }}"
    other = query.format(IRIS.telemetry(HOST, idle, "cpu0"))
    assert two.rows(everything, other)
    assert code_of(two.sparql(token, other)) == "unknown-telemetry"
    assert two.rows(token, query.format(IRIS.telemetry(HOST, FREE, None)))
    assert not two.ask(token, "/state").json()["hosts"]
    assert two.ask(everything, "/state").json()["hosts"]


def test_account_of_missing_samples_is_of_whole_hosts(
    two: TwoHosts, everything: str
) -> None:
    query = (
        f"SELECT ?why {{ VALUES ?t {{ <{IRIS.telemetry(HOST, FREE, None)}> }} "
        '?t st:avg ("now+1h" "now" ?v ?present ?expected ?why) }'
    ).replace("now+1h", "now-1m")
    token = two.token(metrics=[FREE])
    assert len(two.rows(token, query)) == len(two.rows(everything, query))


def plan(**more: object) -> dict[str, object]:
    return {"host": HOST, "plan": "own", "period": "200ms", "metrics": [USAGE], **more}


OF_JOB = {"query": "cgroups/of-job", "parameters": {"job": JOB}}
REFUSED_PLANS = {
    "all groups": ({"jobs": [JOB]}, plan()),
    "other group": ({"jobs": [JOB]}, plan(instances=[PATH, OTHER_PATH])),
    "other job": (
        {"jobs": [OTHER]},
        plan(query="cgroups/of-job", parameters={"job": JOB}),
    ),
    "all jobs": ({"jobs": [JOB]}, plan(query="cgroups/of-job")),
    "threads": (
        {"jobs": [JOB]},
        plan(query="cgroups/job-threads", parameters={"job": JOB}),
    ),
    "host-wide metric": ({"jobs": [JOB]}, plan(metrics=["kernel.all.load"])),
    "event": ({"jobs": [JOB]}, plan(metrics=[], events=["msr::tsc"])),
    "role": ({"users": [USER]}, plan(metrics=[], roles=["FLOPs"])),
    "other metric": ({"metrics": ["mem.*"]}, plan(metrics=["kernel.all.load"])),
    "event of metrics": ({"metrics": ["mem.*"]}, plan(metrics=[], events=["msr::tsc"])),
}


@pytest.mark.parametrize("case", REFUSED_PLANS)
def test_plans_out_of_scope_are_refused(two: TwoHosts, case: str) -> None:
    kinds, body = REFUSED_PLANS[case]
    token = two.token(TokenRole.OPERATOR, **kinds)
    answer = two.ask(token, "/plans", method="POST", json=body)
    assert (answer.status_code, code_of(answer)) == (403, "out-of-scope"), answer.text


def test_plan_on_another_host_is_refused(two: TwoHosts) -> None:
    token = two.token(TokenRole.OPERATOR, hosts=[HOST])
    body = plan(host=HIDDEN, metrics=["kernel.all.load"])
    answer = two.ask(token, "/plans", method="POST", json=body)
    assert (answer.status_code, code_of(answer)) == (404, "unknown-host")
    gone = two.ask(token, f"/plans/{HIDDEN}/slow", method="DELETE")
    assert (gone.status_code, code_of(gone)) == (404, "unknown-host")


@pytest.mark.parametrize(
    ("kinds", "body"),
    [
        ({"jobs": [JOB]}, plan(instances=[PATH])),
        ({"jobs": [JOB]}, plan(**OF_JOB)),
        ({"users": [USER]}, plan(instances=[PATH])),
        ({"metrics": ["kernel.all.*"]}, plan(metrics=["kernel.all.load"])),
        ({"hosts": [HOST]}, plan(metrics=["kernel.all.load"])),
    ],
)
def test_owner_changes_own_plans(
    two: TwoHosts, kinds: dict[str, list[str]], body: dict[str, object]
) -> None:
    token = two.token(TokenRole.OPERATOR, **kinds)
    made = two.ask(token, "/plans", method="POST", json=body)
    assert made.status_code == 201, made.text
    other = two.token(TokenRole.OPERATOR, jobs=[OTHER])
    refused = two.ask(other, f"/plans/{HOST}/own", method="DELETE")
    assert code_of(refused) in ("no-such-plan", "out-of-scope")
    gone = two.ask(token, f"/plans/{HOST}/own", method="DELETE")
    assert gone.status_code == 204, gone.text


def test_query_of_a_plan_reads_no_other_host(two: TwoHosts, everything: str) -> None:
    """Whether it has rows for a hidden host must not be told."""
    operator, free = (
        two.token(TokenRole.OPERATOR),
        two.token(TokenRole.OPERATOR, hosts=[HOST]),
    )
    found = {}
    for token in (operator, free):
        body = plan(
            metrics=["kernel.percpu.cpu.idle"],
            query="topology/threads",
            parameters={"host": HIDDEN},
        )
        answer = two.ask(token, "/plans", method="POST", json=body)
        found[token] = answer.json()["detail"]
    assert "returns no component" in found[operator]
    assert "returns no rows" in found[free]


def test_plans_of_hosts_are_not_those_of_a_job(two: TwoHosts) -> None:
    token = two.token(TokenRole.OPERATOR, jobs=[JOB])
    answer = two.ask(token, f"/plans/{HOST}/slow", method="DELETE")
    assert answer.status_code in (403, 404)
    metrics = two.token(TokenRole.OPERATOR, metrics=["mem.*"])
    answer = two.ask(metrics, f"/plans/{HOST}/monitor", method="DELETE")
    assert (answer.status_code, code_of(answer)) == (403, "out-of-scope")


def test_import_needs_telemetry_of_the_scope(two: TwoHosts) -> None:
    token = two.token(TokenRole.OPERATOR, jobs=[JOB])
    path = str(IRIS.telemetry(HOST, FREE, None))[len(IRIS.base) :]
    options = {"method": "POST", "headers": {"Content-Type": "text/csv"}}
    answer = two.ask(token, path, content="time,value\n1,1\n", **options)
    assert (answer.status_code, code_of(answer)) == (403, "out-of-scope")
