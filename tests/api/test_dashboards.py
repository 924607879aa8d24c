"""Dashboards follow the graph's current state, as JSON, as HTML and for Grafana."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import create_app
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from core.stores.results import TermRows
from dashboards.build import build, run
from dashboards.questions import BoundQuery
from tests.api.servers import Api
from tests.api.watched import (
    BASE,
    HOSTILE,
    LARGE,
    SMALL,
    Watched,
    publish,
    small_document,
)
from tests.servers import Fuseki

HTML = {"Accept": "text/html"}


def test_dashboards_are_listed(watched: Watched) -> None:
    found = {each["name"]: each for each in watched.client.get("/dashboards").json()}
    assert found.keys() >= {"monitor", "inventory"}
    assert found["monitor"]["about_one_host"] is True
    assert found["inventory"]["about_one_host"] is False
    assert found["monitor"]["url"] == f"{BASE}/dashboards/monitor"
    assert found["monitor"]["panels"] > 5 and found["monitor"]["title"]
    page = watched.client.get("/dashboards", headers=HTML)
    assert page.status_code == 200 and "<option>small</option>" in page.text


@pytest.mark.parametrize(
    ("name", "host"), [("monitor", SMALL), ("inventory", SMALL), ("inventory", "")]
)
def test_dashboard_equals_the_generated_one(
    watched: Watched, name: str, host: str
) -> None:
    with Endpoint(f"{watched.fuseki.url}/twin") as endpoint:

        def ask(question: BoundQuery) -> TermRows:
            return endpoint.select(question.sparql)

        expected = run(build(name, host, BASE), ask).document()
    found = watched.spec(name, host=host)
    assert found == json.loads(json.dumps(expected))
    assert found["hosts"] == [LARGE, SMALL]


def test_page_holds_the_spec_and_no_foreign_script(watched: Watched) -> None:
    page = watched.client.get(
        "/dashboards/monitor", params={"host": SMALL}, headers=HTML
    )
    assert page.headers["content-type"].startswith("text/html")
    assert HOSTILE not in page.text and "<b onload" not in page.text
    found = re.search(
        r'<script type="application/json" id="spec">(.*?)</script', page.text
    )
    assert found and json.loads(found[1]) == watched.spec()


def test_dashboard_is_served_for_grafana(watched: Watched) -> None:
    answer = watched.client.get("/dashboards/monitor/grafana", params={"host": SMALL})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    document = answer.json()
    assert document["schemaVersion"] >= 40 and len(document["panels"]) > 5
    assert "kernel_all_load" in answer.text


@pytest.mark.parametrize(
    ("path", "query", "status", "message"),
    [
        ("no-such", {"host": SMALL}, 404, "inventory, jobs, monitor"),
        ('mon"}itor', {}, 404, "no dashboard"),
        ("monitor", {"host": "nobody"}, 404, "known: large, small"),
        ("monitor", {"host": '"} #'}, 404, "known: large, small"),
        ("monitor", {}, 400, "large, small"),
        ("monitor/grafana", {}, 400, "large, small"),
        ("monitor/series", {"panel": "host-memory"}, 400, "large, small"),
        ("monitor/live", {}, 400, "large, small"),
        ("monitor/live", {"host": "nobody"}, 404, "known: large, small"),
        ("monitor", {"host": SMALL, "component": "x"}, 404, "socket/"),
        ("no-such/grafana", {"host": SMALL}, 404, "inventory, jobs, monitor"),
    ],
)
def test_invalid_requests_are_refused(
    watched: Watched, path: str, query: dict[str, str], status: int, message: str
) -> None:
    address = f"/dashboards/{path}"
    answer = watched.client.get(address, params=query)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert message in answer.json()["detail"]
    page = watched.client.get(address, params=query, headers=HTML)
    assert page.status_code == status and message in page.text
    assert page.headers["content-type"] == "text/html; charset=utf-8"


def test_other_formats_are_not_acceptable(watched: Watched) -> None:
    for path in ("/dashboards", "/dashboards/monitor?host=small"):
        answer = watched.client.get(path, headers={"Accept": "text/turtle"})
        assert answer.status_code == 406 and "text/html" in answer.json()["available"]


def test_head_has_no_body(watched: Watched) -> None:
    for path in ("", "/monitor", "/monitor/grafana", "/monitor/live"):
        answer = watched.client.head(
            f"/dashboards{path}", params={"host": SMALL} if path else {}
        )
        assert answer.status_code == 200 and not answer.content, path


def test_local_host_is_the_default(watched: Watched, tmp_path: Path) -> None:
    settings = {
        "base": BASE,
        "host": LARGE,
        "home": str(tmp_path / "home"),
        "fuseki_url": watched.fuseki.url,
        "store_read_url": watched.store.url,
    }
    with (
        Api(tmp_path / "api", **settings) as api,
        httpx.Client(base_url=api.url, timeout=120) as client,
    ):
        for headers in ({}, HTML):
            answer = client.get("/dashboards/monitor?component=a%26b", headers=headers)
            assert answer.status_code == 404
            answer = client.get("/dashboards/monitor?component=", headers=headers)
            assert answer.status_code == 307
            assert answer.headers["location"] == (
                f"/dashboards/monitor?host={LARGE}&component="
            )
        answer = client.get("/dashboards/monitor/grafana", follow_redirects=True)
        assert answer.status_code == 200 and LARGE in answer.text
        query = {"panel": "host-memory"}
        assert client.get("/dashboards/monitor/series", params=query).is_success


@pytest.fixture
def alone(tmp_path: Path, hosts: Fuseki) -> Settings:
    """Return settings for an application in this process, to count its requests."""
    return Settings(**{"base": BASE, "fuseki_url": hosts.url})


def test_dashboard_is_built_once_for_each_state_of_the_twin(
    alone: Settings, hosts: Fuseki
) -> None:
    app = create_app(alone)

    async def sizes() -> list[tuple[int, Any]]:
        store = app.state.services.graph.client
        found = []
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            for change in (None, None, "other-disk", None, HOSTILE, HOSTILE):
                if change:
                    await asyncio.to_thread(publish, hosts, small_document(change))
                before = store.requests
                answer = await client.get(f"/dashboards/monitor?host={SMALL}")
                found.append((store.requests - before, answer.json()))
        await app.state.services.aclose()
        return found

    first, second, changed, again, back, same = asyncio.run(sizes())
    assert first[0] > 5 and second == (1, first[1])
    assert changed[0] > 5 and again == (1, changed[1])
    assert "other-disk" in json.dumps(changed[1]) != json.dumps(first[1])
    assert back[1] == first[1] == same[1]


def test_new_host_and_changed_plans_appear_immediately(
    watched: Watched,
) -> None:
    before = watched.spec()
    new, plans = f"{BASE}/graph/twin/new", f"{BASE}/graph/plans/{SMALL}"
    update(
        watched,
        f"INSERT DATA {{ GRAPH <{new}> {{ <{BASE}/twin/new> a st:ComputeNode ; "
        'st:hostname "new" } }',
    )
    assert watched.spec()["hosts"] == [LARGE, "new", SMALL]
    update(watched, f"DROP GRAPH <{new}>")
    assert watched.spec() == before
    name = f"{BASE}/twin/{SMALL}/plan/monitor.kernel.all.load"
    gone = f"<{name}> a st:SamplingPlan ; st:samples ?metric ; st:period ?period"
    update(watched, f"WITH <{plans}> DELETE {{ {gone} }} WHERE {{ {gone} }}")
    assert "host-load-average" not in _drawn(watched.spec())
    publish(watched.fuseki, small_document())
    assert "host-load-average" in _drawn(watched.spec())


def _drawn(spec: dict[str, Any]) -> set[str]:
    """Return the panels that have series."""
    return {p["id"] for s in spec["sections"] for p in s["panels"] if p["series"]}


def update(watched: Watched, text: str) -> None:
    text = f"PREFIX st: <https://w3id.org/supertwin/ns#> {text}"
    url = f"{watched.fuseki.url}/twin/update"
    httpx.post(url, data={"update": text}).raise_for_status()


def test_failed_query_affects_only_its_own_panels(
    watched: Watched, tmp_path: Path
) -> None:
    settings = {
        "base": BASE,
        "home": str(tmp_path / "home"),
        "fuseki_url": watched.fuseki.url,
        "store_read_url": watched.store.url,
        "query_max_bytes": "40000",
    }
    with Api(tmp_path / "api", **settings) as api:
        query = {"host": LARGE}
        answer = httpx.get(f"{api.url}/dashboards/monitor", params=query, timeout=120)
        assert answer.status_code == 200, answer.text
        panels = [p for s in answer.json()["sections"] for p in s["panels"]]
        failed = [p for p in panels if p["problem"]]
        assert failed and len(failed) < len(panels)
        assert all("SUPERTWIN_QUERY_MAX_BYTES" in p["problem"] for p in failed)
        assert all(not p["series"] for p in failed)
        query |= {"panel": failed[0]["id"]}
        answer = httpx.get(f"{api.url}/dashboards/monitor/series", params=query)
        assert answer.json()["why"] == [failed[0]["problem"]]


def test_unreachable_stores_are_reported(watched: Watched, tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9"
    settings = {"base": BASE, "home": str(tmp_path / "home"), "host": SMALL}
    graph = settings | {"fuseki_url": nobody, "store_read_url": watched.store.url}
    store = settings | {"fuseki_url": watched.fuseki.url, "store_read_url": nobody}
    query = {"host": SMALL, "panel": "host-memory"}
    with Api(tmp_path / "graph", **graph) as api:
        for path in ("", "/grafana", "/series", "/live"):
            given = query if path == "/series" else {"host": SMALL}
            answer = httpx.get(f"{api.url}/dashboards/monitor{path}", params=given)
            assert answer.status_code == 503, path
            assert "Fuseki does not answer" in answer.json()["detail"]
    with Api(tmp_path / "store", **store) as api:
        url = f"{api.url}/dashboards/monitor"
        assert httpx.get(url, params={"host": SMALL}).status_code == 200
        answer = httpx.get(f"{url}/series", params=query)
        assert answer.status_code == 503 and nobody in answer.json()["detail"]


def test_openapi_describes_the_dashboard_routes(watched: Watched) -> None:
    paths = watched.client.get("/openapi.json").json()["paths"]
    for path in ("", "/{name}", "/{name}/grafana", "/{name}/series", "/{name}/live"):
        operation = paths[f"/dashboards{path}"]["get"]
        assert operation["summary"] and operation["description"]
        assert all(p["description"] for p in operation.get("parameters", []))


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("metric:kernel.percpu.cpu.idle", [f"cpu{number}" for number in range(4)]),
        ("series:kernel.percpu.cpu.idle:cpu1", ["cpu1"]),
        ("series:kernel.all.load:1~20minute", ["1 minute"]),
        ("metric:no.such.metric", []),
    ],
)
def test_chart_has_the_requested_series(
    watched: Watched, name: str, labels: list[str]
) -> None:
    found = watched.spec(name, host=SMALL)
    [panel] = [panel for section in found["sections"] for panel in section["panels"]]
    assert [series["label"] for series in panel["series"]] == labels
    assert not panel["problem"]
    assert bool(panel["why"]) is not bool(labels)


def test_chart_has_the_series_of_a_plan(watched: Watched) -> None:
    found = watched.spec("plan:monitor", host=SMALL)
    panels = {p["title"]: p for each in found["sections"] for p in each["panels"]}
    assert {"kernel.all.load", "kernel.percpu.cpu.idle"} <= panels.keys()
    assert len(panels["kernel.all.load"]["series"]) == 3
    assert found["given"] == {"plan": "monitor"}


@pytest.mark.parametrize(
    "name", ["metric:", "metric:a:b", "series:a", "plan:", "plan:~zz", "other:a", ":"]
)
def test_other_chart_names_are_unknown(watched: Watched, name: str) -> None:
    answer = watched.client.get(f"/dashboards/{name}", params={"host": SMALL})
    assert answer.status_code == 404
    assert answer.json()["type"].endswith("unknown-dashboard")
