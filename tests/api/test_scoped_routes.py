"""Routes, pages, caches and streams, for a token that is limited to one host."""

import re
from contextlib import closing

import httpx
import pytest

from api.access.scoped import is_scoped
from api.access.tokens import TokenRole
from bench.questions.load import IRIS
from ontology.terms import ST
from tests.api.mcp.client import call, session
from tests.api.routing import ROUTES
from tests.api.servers import bearer, code_of
from tests.api.two_hosts import HIDDEN, HOST, TwoHosts
from tests.servers import ROOT

IDLE = "kernel.percpu.cpu.idle"
_SERIES = f"/twin/{HIDDEN}/telemetry/{IDLE}/cpu0"
_THREAD = IRIS.component(HIDDEN, "thread", "0")
_PANEL = "host-load-average"

# What no stores answer, or what is the same for everyone.
REFUSED = [route for route in ROUTES if not is_scoped(route.endpoint)]


@pytest.mark.parametrize(
    "route", REFUSED, ids=lambda route: f"{min(route.methods)} {route.path}"
)
def test_other_routes_refuse_limited_tokens(two: TwoHosts, route) -> None:  # type: ignore[no-untyped-def]
    token = two.token(TokenRole.OPERATOR, hosts=[HOST])
    path = re.sub(r"\{(\w+)(:\w+)?\}", HOST, route.path.replace("{id:run}", "run-1a"))
    answer = two.ask(token, path, method=min(route.methods))
    assert (answer.status_code, code_of(answer)) == (403, "out-of-scope")


def test_routes_that_change_for_all_are_refused() -> None:
    refused = {(min(route.methods), route.path) for route in REFUSED}
    assert {
        ("PUT", "/queries/{group}/{name}"),
        ("POST", "/tokens"),
        ("POST", "/observations"),
        ("GET", "/export/observation"),
        ("GET", "/twin/{host}/process/{id}"),
    } <= refused


def test_no_pool_of_threads_loses_the_scope() -> None:
    """Tasks and `to_thread` inherit the scope of a request; pools do not."""
    pools = re.compile(r"ThreadPoolExecutor|run_in_executor")
    files = [
        file for name in ("api", "pinning") for file in (ROOT / name).rglob("*.py")
    ]
    assert files
    assert not [str(file) for file in files if pools.search(file.read_text())]


LISTS = (
    ("/twin", "application/ld+json"),
    ("/twin", "text/html"),
    ("/", "text/html"),
    ("/state", "application/json"),
    ("/plans", "application/json"),
    ("/pin", "text/html"),
    ("/dashboards", "text/html"),
    ("/dashboards/inventory", "application/json"),
    ("/.well-known/void", "text/turtle"),
    ("/sparql", "text/turtle"),
    ("/metric/mem.util.free", "text/turtle"),
    ("/queries/inventory/hosts", "text/html"),
    ("/queries/inventory/hosts.csv", "*/*"),
    ("/queries/cgroups/running.csv", "*/*"),
    ("/queries/telemetry/sampled.csv", "*/*"),
    ("/queries/history/states.csv", "*/*"),
    ("/queries/fleet/find.csv", "*/*"),
)


@pytest.mark.parametrize("order", ["whole first", "limited first"])
@pytest.mark.parametrize(("path", "accept"), LISTS)
def test_lists_leave_out_other_hosts(
    two: TwoHosts, everything: str, limited: str, path: str, accept: str, order: str
) -> None:
    tokens = [everything, limited] if order == "whole first" else [limited, everything]
    found = {
        token: two.ask(token, path, headers={"Accept": accept}) for token in tokens
    }
    whole, part = found[everything], found[limited]
    assert (whole.status_code, HIDDEN in whole.text) == (200, True)
    assert (part.status_code, HIDDEN in part.text) == (200, False)
    # A tag that the other answer has does not validate this one.
    tag = {"If-None-Match": whole.headers.get("ETag", '"none"'), "Accept": accept}
    again = two.ask(limited, path, headers=tag)
    assert (again.status_code, HIDDEN in again.text) == (200, False)


NAMED = (
    f"/twin/{HIDDEN}",
    f"/twin/{HIDDEN}?frame=host",
    f"/twin/{HIDDEN}?depth=2",
    f"/twin/{HIDDEN}/thread/0",
    f"/twin/{HIDDEN}/state/1",
    f"/twin/{HIDDEN}/load",
    f"/twin/{HIDDEN}/instance/60.0/cpu0",
    _SERIES,
    f"{_SERIES}?from=now-5m",
    f"{_SERIES}?fn=last&format=csv",
    f"/graph/twin/{HIDDEN}",
    f"/graph/entailed/{HIDDEN}",
    f"/graph/plans/{HIDDEN}",
    f"/graph/cgroups/{HIDDEN}",
    f"/graph/history/{HIDDEN}",
    "/graph/observation/run-2a",
    "/graph/baseline/b",
    "/observation/run-2a",
    "/observation/run-2a?frame=run",
    "/baseline/b",
    f"/model/{HOST}/b",
    f"/graph/model/{HOST}/b",
    "/benchmark/m",
    "/benchmark/m?frame=benchmark",
    "/graph/benchmark/m",
    f"/history/{HIDDEN}",
    f"/open?name={HIDDEN}",
    f"/export/dtdl?host={HIDDEN}",
    f"/pin?host={HIDDEN}&threads=1",
    f"/plans?host={HIDDEN}",
    f"/dashboards/monitor?host={HIDDEN}",
    f"/dashboards/monitor/grafana?host={HIDDEN}",
    f"/dashboards/monitor/series?host={HIDDEN}&panel={_PANEL}",
    f"/dashboards/series:{IDLE}:cpu0?host={HIDDEN}",
    f"/explorer/parts?iri={IRIS.host(HIDDEN)}",
    f"/explorer/telemetry?iri={_THREAD}",
    f"/queries/topology/threads?host={HIDDEN}",
    f"/queries/cgroups/running.jsonld?host={HIDDEN}",
)
_UNKNOWN = {
    "not-in-twin",
    "unknown-host",
    "unknown-graph",
    "no-such-observation",
    "no-such-benchmark",
}


@pytest.mark.parametrize("path", NAMED)
def test_another_host_is_unknown(
    two: TwoHosts, everything: str, limited: str, path: str
) -> None:
    assert two.ask(everything, path).status_code in (200, 303)
    answer = two.ask(limited, path)
    assert (answer.status_code, code_of(answer) in _UNKNOWN) == (404, True), answer.text
    # Hints list the visible host only.
    assert f"{HOST}, {HIDDEN}" not in answer.text
    assert two.ask(limited, path, method="HEAD").status_code == 404


def test_own_host_is_answered(two: TwoHosts, everything: str, limited: str) -> None:
    for path in (f"/twin/{HOST}", "/observation/run-1a", f"/history/{HOST}"):
        whole, part = two.ask(everything, path), two.ask(limited, path)
        assert part.status_code == 200
        assert sorted(part.text) == sorted(whole.text)


def test_panels_have_the_points_of_their_host(
    two: TwoHosts, everything: str, limited: str
) -> None:
    path = f"/dashboards/monitor/series?host={HOST}&panel={_PANEL}&end={two.world.end}"
    whole, part = two.ask(everything, path).json(), two.ask(limited, path).json()
    assert part["values"] == whole["values"]
    assert any(value for series in part["values"] for value in series)


def test_streams_of_different_scopes_are_apart(
    two: TwoHosts, everything: str, limited: str
) -> None:
    """The stream of a token without a scope is not continued for a limited one."""
    path = f"{two.url}/dashboards/monitor/live?host={HIDDEN}&seconds=60"
    with httpx.stream("GET", path, headers=bearer(everything), timeout=60) as stream:
        lines = stream.iter_lines()
        with closing(lines):  # type: ignore[type-var]
            assert any("window" in line for line in lines)
            refused = two.ask(limited, path.removeprefix(two.url))
            assert code_of(refused) == "unknown-host"
    own = f"{two.url}/dashboards/monitor/live?host={HOST}&seconds=60"
    with httpx.stream("GET", own, headers=bearer(limited), timeout=60) as stream:
        assert any("window" in line for line in stream.iter_lines())


def test_samples_of_many_series_refuse_those_of_another_host(
    two: TwoHosts, limited: str
) -> None:
    iris = [str(IRIS.telemetry(name, IDLE, "cpu0")) for name in (HOST, HIDDEN)]
    body = {"telemetry": iris, "from": "now-5m"}
    answer = two.ask(limited, "/samples", method="POST", json=body)
    assert (answer.status_code, code_of(answer)) == (400, "unknown-telemetry")
    body = {"query": "telemetry/sampled", "from": "now-5m", "parameters": {}}
    options = {"method": "POST", "json": body, "headers": {"Accept": "text/csv"}}
    found = two.ask(limited, "/samples", **options)
    assert (found.status_code, HIDDEN in found.text) == (200, False)


def test_import_into_another_host_is_refused(two: TwoHosts) -> None:
    token = two.token(TokenRole.OPERATOR, hosts=[HOST])
    options = {"method": "POST", "headers": {"Content-Type": "text/csv"}}
    answer = two.ask(token, _SERIES, content="time,value\n1,1\n", **options)
    assert code_of(answer) == "unknown-host"


def test_tools_of_assistants_are_limited(
    two: TwoHosts, everything: str, limited: str
) -> None:
    for name, arguments in (
        ("inventory_names", {}),
        ("sparql", {"query": f"SELECT ?n {{ ?n a <{ST.ComputeNode}> }}"}),
        ("cgroups_of-job", {}),
    ):
        whole = call(two.url, name, arguments, **bearer(everything))
        part = call(two.url, name, arguments, **bearer(limited))
        assert (HIDDEN in str(whole), HIDDEN in str(part)) == (True, False)
        assert not part.is_error
    found = session(two.url, lambda c: c.list_resources(), **bearer(limited))
    assert HIDDEN not in str(found)


def test_session_of_a_browser_is_limited(two: TwoHosts, limited: str) -> None:
    with httpx.Client(base_url=two.url, timeout=60, trust_env=False) as browser:
        assert browser.post("/login", data={"token": limited}).status_code == 303
        assert HIDDEN not in browser.get("/twin").text
        assert browser.get("/observations").status_code == 403
