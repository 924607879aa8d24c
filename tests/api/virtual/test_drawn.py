"""Virtual telemetry in dashboards, in pages and in Grafana's form."""

import json

import httpx
import pytest

from tests.api.servers import Closed
from tests.api.virtual.calls import ACCEPT, RACK, at, send
from tests.virtual_telemetry.world import BASE, World, telemetry


def test_dashboard_follows_the_inputs(api: Closed, operator: str, world: World) -> None:
    expression = '{ ?telemetry st:samplerName "power" ; ?mark 1 }'
    node = f"<{BASE}/{telemetry('power')}> <urn:mark> 1"
    other = f"<{BASE}/{telemetry('power', 'n2')}> <urn:mark> 1"
    with world.twin() as twin:
        twin.update(f"INSERT DATA {{ GRAPH <{BASE}/marks> {{ {node} }} }}")
        body = {"expression": f"sum({expression})", "label": "Marked"}
        send(api, "PUT", operator, "/virtual/marked", body)
        assert 'hostname=\\"n1\\"' in drawn(api)
        twin.update(f"INSERT DATA {{ GRAPH <{BASE}/marks> {{ {other} }} }}")
        assert 'hostname=~\\"n1|n2\\"' in drawn(api)
        twin.update(f"DROP GRAPH <{BASE}/marks>")
    assert send(api, "DELETE", operator, "/virtual/marked").status_code == 204


def drawn(api: Closed) -> str:
    """The panel of a set in the dashboard of n1, as Grafana has it."""
    url = f"{api.url}/dashboards/virtual/grafana"
    document = api.client.get(url, params={"host": "n1"}).json()
    (panel,) = [one for one in document["panels"] if one["title"] == "Marked"]
    return json.dumps(panel)


# As in docs/virtual-telemetry.md: expression, unit.
FIVE = {
    "busy": (
        'sum(rate({ ?telemetry st:samplerName "cpu.user" ; '
        "st:ofComponent/st:isPartOf+ <twin/n1/socket/socket-0> }))",
        "UNITLESS",
    ),
    "faults-per-switch": (
        f"rate(<{telemetry('page.faults')}>) / rate(<{telemetry('context.switches')}>)",
        "",
    ),
    "power-of-rack": (RACK["expression"], "KiloW"),
    "heat-per-power": (f"<{telemetry('heat')}> / <virtual/rack>", "PERCENT"),
    "energy": ("integral(<virtual/rack>)", "KiloW-HR"),
}


@pytest.mark.parametrize("name", FIVE)
def test_five_examples_in_sparql_page_and_grafana(
    api: Closed, operator: str, rack: str, world: World, name: str
) -> None:
    expression, unit = FIVE[name]
    body = {"expression": expression, "unit": unit}
    answer = send(api, "PUT", operator, f"/virtual/{name}", body)
    assert answer.status_code == 201, answer.text
    values = world.values(name, 100, 200)
    assert len(values) == 100
    page = api.client.get(f"{api.url}/virtual/{name}", headers={"Accept": "text/html"})
    assert f"virtual:{name}" in page.text
    facts, _, triples = page.text.partition("All triples")
    assert "expressionTree" not in facts
    assert "expressionTree" in triples
    url = f"{api.url}/dashboards/virtual/grafana"
    document = api.client.get(url, params={"host": "n1"}).json()
    (panel,) = [one for one in document["panels"] if one["title"] == name]
    (target,) = panel["targets"]
    query = {"query": target["expr"], "time": str(world.start + 160), "step": "10s"}
    found = httpx.get(f"{world.store}/api/v1/query", params=query).json()
    ((_, drawn),) = [one["value"] for one in found["data"]["result"]]
    mean = sum(values[second] for second in range(151, 161)) / 10
    drawn_per_value = {"KiloW": 1000, "KiloW-HR": 3.6e6}.get(unit, 1)
    assert float(drawn) == pytest.approx(mean * drawn_per_value)
    assert send(api, "DELETE", operator, f"/virtual/{name}").status_code == 204


def test_dashboard_draws_the_values(api: Closed, rack: str, world: World) -> None:
    answer = api.client.get(
        f"{api.url}/dashboards/virtual", params={"host": "n2"}, headers=ACCEPT
    )
    panels = [p for s in answer.json()["sections"] for p in s["panels"]]
    (panel,) = [p for p in panels if p["title"] == "Power of the rack"]
    assert panel["unit"]["qudt"] == "W"
    query = {"host": "n2", "panel": panel["id"]}
    span = {"start": world.start + 100, "end": world.start + 130}
    url = f"{api.url}/dashboards/virtual/series"
    found = api.client.get(url, params={**query, **span, "points": 30}).json()
    values = dict(zip(found["times"], found["values"][0], strict=True))
    for second in (110, 120):
        assert values[world.start + second] == pytest.approx(1000 * at(second))
    wide = {"start": world.start + 200, "end": world.start + 260, "points": 6}
    found = api.client.get(url, params={**query, **wide}).json()
    means = dict(zip(found["times"], found["values"][0], strict=True))
    mean = sum(at(second) for second in range(211, 221)) / 10
    ten = next(t for t in means if t % 10 == 0 and t == world.start + 220)
    assert means[ten] == pytest.approx(1000 * mean)


def test_grafana_form_has_the_expression_that_the_store_computes(
    api: Closed, rack: str, world: World
) -> None:
    url = f"{api.url}/dashboards/virtual/grafana"
    document = api.client.get(url, params={"host": "n2"}).json()
    expressions = [
        target["expr"]
        for panel in document["panels"]
        for target in panel.get("targets", [])
    ]
    (text,) = [one for one in expressions if 'hostname=~"n1|n2"' in one]
    query = {"query": text, "time": str(world.start + 110), "step": "10s"}
    answer = httpx.get(f"{world.store}/api/v1/query", params=query).json()
    ((_, value),) = [one["value"] for one in answer["data"]["result"]]
    mean = sum(at(second) for second in range(101, 111)) / 10
    assert float(value) == pytest.approx(1000 * mean)
