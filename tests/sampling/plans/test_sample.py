"""Plans on the command line with a real graph store; no bridge runs."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rdflib import URIRef

from core.settings import audit
from core.stores.endpoint import Endpoint
from ingest.entailed import derive_again
from ingest.hwloc.read import parse_hwloc
from sampling.plan_file.choice import InstanceSelection
from sampling.plan_file.graph_plan import read_plan
from supertwin.cli.main import main
from tests.following import assert_following
from tests.ingest.documents import IRIS, PCP, document, synthetic
from tests.servers import Fuseki

Run = Callable[..., Result]

USER = "kernel.percpu.cpu.user"
SOCKET = ("--query", "topology/socket-threads", "--param")
SERIES = (
    "PREFIX st: <https://w3id.org/supertwin/ns#> SELECT ?name ?plan "
    '{ ?s st:samplerName "kernel.percpu.cpu.user" ; st:instname ?name ; '
    "st:sampledBy/st:planName ?plan } ORDER BY ?name ?plan"
)


def described() -> dict[str, Any]:
    """Two sockets of two threads, a domain for each, and metrics of many kinds."""
    pcp = deepcopy(PCP)
    base = pcp["metrics"][0]
    pcp["metrics"] += [
        {**base, "name": "mem.numa.util.free", "pmid": "60.36.1", "indom": "60.19"},
        {**base, "name": "kernel.uname.release", "pmid": "60.12.0", "indom": None}
        | {"type": "string", "semantics": "discrete"},
        {**base, "name": "odd.events", "pmid": "60.99.1", "indom": None}
        | {"type": "event", "semantics": "discrete"},
        {**base, "name": "odd.names", "pmid": "60.99.0", "indom": "60.98"},
    ]
    cpus = [[f"cpu{number}", number] for number in range(4)]
    nodes = [["node0", 0], ["node1", 1]]
    pcp["indoms"] |= {
        "60.0": {"stored": True, "count": 4, "instances": cpus},
        "60.19": {"stored": True, "count": 2, "instances": nodes},
        "60.98": {"stored": True, "count": 1, "instances": [["a\nb", 0]]},
    }
    return {"hwloc": parse_hwloc(synthetic("pack:2 numa:1 core:2 pu:1")), "pcp": pcp}


@pytest.fixture
def twin(fuseki: Fuseki) -> Iterator[Endpoint]:
    with Endpoint(f"{fuseki.url}/twin") as endpoint:
        yield endpoint


@pytest.fixture
def run(before_fuseki: Fuseki, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command line on a twin of n1."""
    monkeypatch.setenv("SUPERTWIN_HOST", "n1")

    def call(*words: str) -> Result:
        return CliRunner().invoke(main, words)

    ingest(call, tmp_path)
    return call


def ingest(run: Run, folder: Path, kernel: str = "6.1") -> None:
    """Load the result of a probe."""
    path = folder / "facts.json"
    path.write_text(json.dumps(document({**described(), "os": {"kernel": kernel}})))
    done = run("ingest", "--probe", str(path))
    assert done.exit_code == 0, done.output


def good(run: Run, *words: str) -> str:
    done = run("sample", *words)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def listed(run: Run, *words: str) -> dict[str, dict[str, Any]]:
    """Every plan by its name."""
    rows = json.loads(good(run, "list", "--format", "json", *words))
    return {row["plan"]: row for row in rows}


def test_plan_is_added_listed_sampled_and_removed(run: Run, twin: Endpoint) -> None:
    words = ("add", USER, "mem.util.free", "--period", "10ms", "--plan", "fast")
    done = run("sample", *words)
    assert (done.exit_code, done.stdout) == (0, "fast: 2 metrics every 10ms\n"), (
        done.stderr
    )
    assert "no bridge runs here" in done.stderr
    assert listed(run)["fast"] == {
        **{"host": "n1", "plan": "fast", "period": "0.01", "metrics": 2},
        **{"instances": None, "query": None, "parameters": None},
        **{"roles": None, "events": None},
    }
    groups = read_plan(twin, "n1").groups()
    assert groups[10].names == {
        USER: USER.replace(".", "_"),
        "mem.util.free": "mem_util_free",
    }
    assert USER not in groups[1000].names
    sampled = {(name, plan) for name, plan in twin.select(SERIES).values()}
    both = {(f"cpu{n}", plan) for n in range(4) for plan in ("fast", "monitor")}
    assert sampled == both
    assert good(run, "remove", "fast") == "fast is removed from n1\n"
    assert "fast" not in listed(run)
    assert {plan for _, plan in twin.select(SERIES).values()} == {"monitor"}
    assert USER in read_plan(twin, "n1").groups()[1000].names


def test_changes_are_in_the_audit_trail(run: Run) -> None:
    good(run, "add", USER, "--period", "1s", "--plan", "audited")
    good(run, "remove", "audited")
    assert run("remove", "n1", "--yes").exit_code == 0
    assert run("sample", "remove", "audited").exit_code == 2
    found = json.loads(run("log", "--format", "json").stdout)
    assert {event["who"] for event in found} == {audit.local_user()}
    assert [(event["what"], event["thing"]) for event in found] == [
        ("host.added", "n1"),
        ("plan.added", "n1 audited"),
        ("plan.removed", "n1 audited"),
        ("host.removed", "n1"),
    ]


def test_component_set_refines_the_threads_of_one_socket(
    run: Run, twin: Endpoint
) -> None:
    good(run, "add", USER, "--period", "0.5s", *SOCKET, "socket=1")
    found = listed(run)["plan-1"]
    assert found["instances"] == 2
    assert found["query"] == "topology/socket-threads"
    assert json.loads(found["parameters"]) == {"socket": "1"}
    groups, some = read_plan(twin, "n1").groups(), frozenset({"cpu2", "cpu3"})
    assert groups[500].choices == {USER: InstanceSelection(some)}
    assert groups[1000].choices == {USER: InstanceSelection(None, some)}
    names = {name for name, plan in twin.select(SERIES).values() if plan == "plan-1"}
    assert names == some
    page = run("query", "telemetry/sampled", "--metric", USER, "--format", "json")
    periods = {row["instname"]: row["period"] for row in json.loads(page.stdout)}
    assert periods == {"cpu0": "1.0", "cpu1": "1.0", "cpu2": "0.5", "cpu3": "0.5"}


def test_plan_may_name_instances(run: Run, twin: Endpoint) -> None:
    process = "000123 /bin/sh -c 'a \"b\"'"
    for metric, name in ((USER, "cpu3"), ("proc.psinfo.rss", process)):
        good(run, "add", metric, "--period", "20ms", "--instance", name)
    choices = read_plan(twin, "n1").groups()[20].choices
    assert choices == {
        USER: InstanceSelection(frozenset({"cpu3"})),
        "proc.psinfo.rss": InstanceSelection(frozenset({process})),
    }
    assert sorted(listed(run)) == ["monitor", "plan-1", "plan-2"]


def test_plans_survive_a_new_probe_and_end_with_their_host(
    run: Run, twin: Endpoint, tmp_path: Path
) -> None:
    good(run, "add", USER, "--period", "10ms", "--plan", "fast", *SOCKET, "socket=0")
    before = twin.select(SERIES).values()
    ingest(run, tmp_path, kernel="6.2")
    assert twin.select(SERIES).values() == before
    assert listed(run)["fast"]["instances"] == 2
    added = IRIS.entailed_graph(IRIS.plan_graph("n1", "fast"))
    assert added in assert_following(twin, IRIS)
    ended = run("remove", "n1", "--yes")
    assert ended.exit_code == 0, ended.output
    assert not twin.ask("ASK { ?plan a <https://w3id.org/supertwin/ns#SamplingPlan> }")
    assert added not in assert_following(twin, IRIS)


def test_plan_of_an_imported_twin_is_removed_too(run: Run, twin: Endpoint) -> None:
    good(run, "add", USER, "--period", "10ms", "--plan", "fast")
    own, shared = (
        f"http://localhost:8000/graph/plans/n1{end}" for end in ("/fast", "")
    )
    twin.update(
        f"INSERT {{ GRAPH <{shared}> {{ ?s ?p ?o }} }} "
        f"WHERE {{ GRAPH <{own}> {{ ?s ?p ?o }} }} ; DROP GRAPH <{own}>"
    )
    derive_again(twin, IRIS, URIRef(shared))
    assert "fast" in listed(run)
    good(run, "remove", "fast")
    assert_following(twin, IRIS)
    assert [*listed(run)] == ["monitor"]
    assert {plan for _, plan in twin.select(SERIES).values()} == {"monitor"}
    assert len(twin.select(SERIES).rows) == 4


REFUSED = [
    (("no.such.metric",), "[unknown-metric]"),
    (("kernel.percpu.cpu.usr",), "[unknown-metric]"),
    (("odd.events",), "[plan-refused]"),
    ((USER, "--period", "0ms"), "[plan-refused]"),
    ((USER, "--period", "0"), "[plan-refused]"),
    ((USER, "--period", "2h"), "[plan-refused]"),
    ((USER, *SOCKET, "socket=7"), "[plan-refused]"),
    ((USER, *SOCKET, "socket=x"), "[bad-parameter]"),
    ((USER, *SOCKET, "sockets=0"), "[bad-parameter]"),
    ((USER, *SOCKET, "socket"), "[plan-refused]"),
    ((USER, *SOCKET, "socket=0", "--param", "socket=1"), "[plan-refused]"),
    (("mem.numa.util.free", *SOCKET, "socket=0"), "[plan-refused]"),
    (
        (USER, "--query", "telemetry/names", "--param", "pattern=*"),
        "[plan-refused]",
    ),
    ((USER, "--query", "no/such"), "[unknown-query]"),
    ((USER, "--query", "history/states"), "[plan-refused]"),
    (("mem.util.free", *SOCKET, "socket=0"), "[plan-refused]"),
    (("proc.psinfo.rss", *SOCKET, "socket=0"), "[plan-refused]"),
    ((USER, "--param", "socket=0"), "[plan-refused]"),
    ((USER, "--instance", "cpu9"), "[unknown-instance]"),
    ((USER, "--instance", "cpu0\ncpu1"), "[plan-refused]"),
    (("proc.psinfo.rss", "--instance", "1 a\n2 b"), "[plan-refused]"),
    (("odd.names", "--query", "fleet/find"), "[plan-refused]"),
    (("mem.util.free", "--instance", "x"), "[plan-refused]"),
    ((USER, "--plan", "taken"), "[plan-exists]"),
    ((USER, "--plan", "monitor"), "[plan-refused]"),
    ((USER, "--plan", "a b"), "[plan-refused]"),
    ((USER, "--plan", ""), "--plan is empty"),
    ((USER, "--host", "n7"), "[unknown-host]"),
    ((USER, "--host", ""), "host"),
    ((), "[plan-refused]"),
    ((USER, "--role", "FLOPs"), "[not-countable]"),
    (("--event", "msr::tsc"), "[not-countable]"),
    ((USER, "--multiplex"), "[plan-refused]"),
]


def test_each_refusal_is_one_line_and_changes_nothing(run: Run, twin: Endpoint) -> None:
    good(run, "add", "mem.util.free", "--period", "5s", "--plan", "taken")
    plan, plans = read_plan(twin, "n1"), listed(run)
    for words, reason in REFUSED:
        period = () if "--period" in words else ("--period", "10ms")
        done = run("sample", "add", *words, *period)
        assert done.exit_code == 2, (words, done.output)
        assert done.stdout == ""
        assert reason in done.stderr, (words, done.stderr)
        assert done.stderr.count("\n") == 1
    for words, reason in (
        (("remove", "none"), "[no-such-plan]"),
        (("remove", "monitor"), "[plan-refused]"),
        (("remove", "taken", "--host", "n7"), "[unknown-host]"),
        (("list", "--host", "n7"), "[unknown-host]"),
    ):
        done = run("sample", *words)
        assert (done.exit_code, done.stdout) == (2, "")
        assert reason in done.stderr
    assert (read_plan(twin, "n1"), listed(run)) == (plan, plans)


def test_command_fails_without_the_graph_store(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUPERTWIN_FUSEKI_URL", "http://127.0.0.1:9")
    done = run("sample", "add", USER, "--period", "1s")
    assert done.exit_code == 1
    assert "[graph-store-away]" in done.stderr
