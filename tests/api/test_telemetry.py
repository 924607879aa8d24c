"""Telemetry IRIs answer, in the graph or not."""

import asyncio
import time
from typing import Any

import httpx
import pytest
from rdflib import Graph, URIRef
from rdflib.namespace import XSD

from api.app import create_app
from core.settings.settings import Settings
from core.stores.endpoint import Endpoint
from ontology.terms import ST, UNIT

CPU = "/twin/n1/telemetry/kernel.percpu.cpu.user"


def described(api: httpx.Client, base: str, path: str) -> dict[str, Any]:
    """Return values by local name of their property, also those of metric and plan."""
    answer = api.get(path, headers={"Accept": "text/turtle"})
    assert answer.status_code == 200, answer.text
    graph = Graph().parse(data=answer.text, format="turtle")
    node = URIRef(base + path)
    related = {*graph.objects(node, ST.ofMetric), *graph.objects(node, ST.sampledBy)}
    found = [pair for one in (*related, node) for pair in graph.predicate_objects(one)]
    return {str(link).rpartition("#")[2].rpartition("/")[2]: o for link, o in found}


def test_sampled_series_is_described(api: httpx.Client, base: str) -> None:
    found = described(api, base, f"{CPU}/cpu0")
    assert str(found["selector"]) == (
        'kernel_percpu_cpu_user{hostname="n1",instname="cpu0"}'
    )
    assert found["hasUnit"] == UNIT.MilliSEC and found["semantics"] == ST.Counter
    assert str(found["ofComponent"]).endswith("/twin/n1/thread/0")
    assert str(found["sampledBy"]).endswith("/plan/monitor.kernel.percpu.cpu.user")
    assert float(found["period"]) == 1.0
    assert found["lastValue"].datatype == XSD.integer
    # Its last point was written when the tests began.
    assert 0 <= float(found["age"]) < 3600
    assert found["lastTime"].datatype == XSD.dateTime
    assert "storeReason" not in found


def test_value_equals_that_in_the_store(
    api: httpx.Client, base: str, store: str
) -> None:
    exported = httpx.get(
        f"{store}/api/v1/export",
        params={"match[]": 'kernel_percpu_cpu_user{instname="cpu0"}'},
    ).json()
    found = described(api, base, f"{CPU}/cpu0")
    assert int(str(found["lastValue"])) == exported["values"][-1]
    fraction = described(api, base, "/twin/n1/telemetry/mem.util.free/~")
    assert str(fraction["lastValue"]) == "0.1"
    assert fraction["lastValue"].datatype == XSD.double


def test_text_series_shows_its_last_text(api: httpx.Client, base: str) -> None:
    found = described(api, base, "/twin/n1/telemetry/kernel.uname.release/~")
    assert str(found["lastValue"]) == "6.2.0"
    assert found["lastValue"].datatype is None
    assert str(found["selector"]) == 'kernel_uname_release{hostname="n1"}'


def test_explorer_shows_the_current_text(
    api: httpx.Client, store: str, base: str
) -> None:
    now = int(time.time() * 1000)
    point = f'kernel_uname_release{{hostname="n1",value="6.2.0"}} 1 {now}\n'
    httpx.post(f"{store}/api/v1/import/prometheus", content=point).raise_for_status()
    httpx.get(f"{store}/internal/force_flush").raise_for_status()
    answer = api.get("/explorer/telemetry", params={"iri": f"{base}/twin/n1"}).json()
    (found,) = answer["metrics"]
    assert (found["metric"], found["text"]) == ("kernel.uname.release", "6.2.0")
    assert found["chart"] == []
    thread = {"iri": f"{base}/twin/n1/thread/0"}
    (number,) = api.get("/explorer/telemetry", params=thread).json()["metrics"]
    assert number["text"] is None


def test_old_value_is_found(api: httpx.Client, base: str, stored_at: float) -> None:
    found = described(api, base, f"{CPU}/cpu1")
    assert str(found["lastValue"]) == "7"
    assert 3500 < float(found["age"]) - (time.time() - stored_at) < 3700
    assert str(found["ofComponent"]).endswith("/twin/n1/thread/1")


def test_counter_without_a_plan_is_hardware_telemetry(
    api: httpx.Client, base: str, fuseki: str
) -> None:
    metric = "perfevent.hwcounters.msr.tsc.value"
    node, own = f"{base}/twin/n7", f"{base}/graph/twin/n7"
    with Endpoint(f"{fuseki}/twin") as twin:
        twin.update(
            f"""PREFIX st: <{ST}> INSERT DATA {{ GRAPH <{own}> {{
            <{base}/metric/{metric}> a st:Metric ; st:samplerName "{metric}" .
            <{node}> a st:ComputeNode ; st:hostname "n7" ; st:kernelEvent "msr::tsc" ;
              st:exposes <{base}/metric/{metric}> }} }}"""
        )
        found = described(api, base, f"/twin/n7/telemetry/{metric}/~")
        twin.update(f"DROP GRAPH <{own}>")
    assert found["type"] == ST.HWTelemetry
    assert str(found["pmuName"]) == "msr::tsc"
    cpu = described(api, base, f"{CPU}/cpu1")
    assert cpu["type"] == ST.SWTelemetry and "pmuName" not in cpu


def test_metric_without_instances_is_described(api: httpx.Client, base: str) -> None:
    found = described(api, base, "/twin/n1/telemetry/mem.util.free/~")
    assert str(found["selector"]) == 'mem_util_free{hostname="n1"}'
    assert "instname" not in found and "sampledBy" not in found
    assert str(found["ofComponent"]) == f"{base}/twin/n1"


def test_series_without_values_is_described(api: httpx.Client, base: str) -> None:
    found = described(api, base, "/twin/n1/telemetry/kernel.all.load/1~20minute")
    assert "lastValue" not in found
    assert "no value" in str(found["storeReason"])
    assert str(found["instname"]) == "1 minute"


def test_instance_resolved_at_fetch_is_known_by_the_store(
    api: httpx.Client, base: str
) -> None:
    found = described(api, base, "/twin/n1/telemetry/proc.psinfo.utime/1~20init")
    assert str(found["lastValue"]) == "3" and "ofComponent" not in found


def test_series_is_served_as_json_ld_and_html(api: httpx.Client) -> None:
    answer = api.get(f"{CPU}/cpu0", headers={"Accept": "application/ld+json"})
    text = answer.text
    assert '"@context"' in text and "kernel_percpu_cpu_user" in text
    assert "lastValue" in text and "age" in text
    page = api.get(f"{CPU}/cpu0", headers={"Accept": "text/html"})
    assert "instname=&#34;cpu0&#34;" in page.text
    assert "st:Counter" in page.text and "st:period" in page.text
    assert 'href="/twin/n1/thread/0"' in page.text


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("n9/telemetry/mem.util.free/~", "unknown-host", "known: n1, n2"),
        ("n1/telemetry/no.such/~", "unknown-metric", "no.such"),
        ("n1/telemetry/other.metric/~", "not-exposed", "does not expose"),
        ("n1/telemetry/mem.util.free/cpu0", "unknown-instance", "write '~'"),
        ("n1/telemetry/kernel.percpu.cpu.user/~", "unknown-instance", "cpu0, cpu1"),
        ("n1/telemetry/kernel.percpu.cpu.user/cpu9", "unknown-instance", "cpu0, cpu1"),
        ("n1/telemetry/proc.psinfo.utime/9~20x", "unknown-instance", "the store"),
        ("n1/telemetry/mem.util.free/%22%7D", "no-such-id", "~22~7D"),
        ("n1/telemetry/a%22%7D%20UNION/~", "no-such-id", "is not an id"),
        ("n1/telemetry/a~22~7D~20UNION/~", "unknown-metric", "UNION"),
    ],
)
def test_unknown_series_is_404(
    api: httpx.Client, path: str, kind: str, message: str
) -> None:
    answer = api.get(f"/twin/{path}")
    assert answer.status_code == 404
    assert answer.json()["type"].endswith(f"/{kind}")
    assert message in answer.json()["detail"]


def test_unreachable_store_is_a_reason(fuseki: str, base: str) -> None:
    away = {"fuseki_url": fuseki, "base": base, "store_read_url": "http://127.0.0.1:9"}
    app = create_app(Settings(**away))

    async def asked() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            paths = (f"{CPU}/cpu0", "/twin/n1/telemetry/proc.psinfo.utime/7~20x")
            found = [await client.get(path) for path in paths]
        await app.state.services.aclose()
        return found

    for answer in asyncio.run(asked()):
        assert answer.status_code == 200
        assert "VictoriaMetrics does not answer at http://127.0.0.1:9" in answer.text
        assert "storeReason" in answer.text and "lastValue" not in answer.text
