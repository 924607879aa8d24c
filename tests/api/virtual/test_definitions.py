"""Virtual telemetry over HTTP and by the command line."""

import json
from typing import Any

import pytest

from api.access.tokens import TokenRole
from core.settings import audit
from core.stores.scope import Scope
from ontology.terms import ST
from tests.api.servers import Closed, bearer, code_of
from tests.api.virtual.calls import ACCEPT, POWER, RACK, at, send
from tests.command_line import supertwin
from tests.virtual_telemetry.world import BASE, SECONDS, World, telemetry


def test_definition_is_added_replaced_listed_and_removed(
    api: Closed, operator: str
) -> None:
    path = "/virtual/changing"
    assert send(api, "PUT", operator, path, {"expression": POWER}).status_code == 201
    answer = send(api, "PUT", operator, path, {"expression": f"{POWER} * 2"})
    assert answer.status_code == 200
    assert answer.json() == {
        "name": "changing",
        "iri": f"{BASE}/virtual/changing",
        "label": "changing",
        "expression": f"{POWER} * 2",
        "unit": "http://qudt.org/vocab/unit/W",
        "host": f"{BASE}/twin/n1",
    }
    assert answer.json() in api.get("/virtual").json()
    assert send(api, "DELETE", operator, path).status_code == 204
    assert api.get(path).status_code == 404
    events = audit.events(api.home)
    words = [event["what"] for event in events if event["thing"] == "changing"]
    assert words == ["virtual.added", "virtual.changed", "virtual.removed"]


def test_only_operators_change_definitions(api: Closed) -> None:
    reader = api.add("ria", TokenRole.READER)
    for token, status in ((reader, 403), ("", 401)):
        shown = bearer(token) if token else {}
        for method in ("PUT", "DELETE"):
            answer = api.client.request(
                method, f"{api.url}/virtual/none", json=RACK, headers=shown
            )
            assert answer.status_code == status


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"expression": f"{POWER} +"}, 400, "bad-expression-text"),
        ({"expression": POWER, "unit": "J"}, 400, "unit-mismatch"),
        ({"expression": POWER, "unit": "Horse"}, 400, "unknown-unit"),
        ({"expression": "<virtual/wrong>"}, 400, "bad-expression-text"),
        ({"expression": POWER, "step": "1m"}, 422, "invalid-request"),
        ({}, 422, "invalid-request"),
        ({"expression": "1" * 70_000}, 413, "body-too-large"),
    ],
)
def test_wrong_definition_is_refused(
    api: Closed, operator: str, body: Any, status: int, code: str
) -> None:
    answer = send(api, "PUT", operator, "/virtual/wrong", body)
    assert (answer.status_code, code_of(answer)) == (status, code), answer.text
    assert api.get("/virtual/wrong").status_code == 404


def test_wrong_name_is_refused(api: Closed, operator: str) -> None:
    answer = send(api, "PUT", operator, "/virtual/A_b", {"expression": POWER})
    assert (answer.status_code, code_of(answer)) == (400, "bad-virtual-name")
    answer = api.get("/virtual/A_b")
    assert (answer.status_code, code_of(answer)) == (404, "unknown-virtual")


def test_node_is_served_with_its_inputs(api: Closed, rack: str) -> None:
    answer = api.client.get(api.url + rack, headers={"Accept": "application/ld+json"})
    node = answer.json()
    text = json.dumps(node)
    assert "VirtualTelemetry" in text and "KiloW" in text
    for host in ("n1", "n2"):
        assert f"twin/{host}/telemetry/power/~" in text
    turtle = api.client.get(api.url + rack, headers={"Accept": "text/turtle"})
    assert "prov:wasDerivedFrom" in turtle.text


def test_samples_are_served_in_every_format(
    api: Closed, rack: str, world: World
) -> None:
    query = {"from": str(world.start + 100), "to": str(world.start + 103)}
    csv = api.client.get(api.url + rack, params={**query, "format": "csv"})
    values = [float(line.split(",")[1]) for line in csv.text.splitlines()[1:]]
    assert values == pytest.approx([at(101), at(102), at(103)])
    found = api.client.get(api.url + rack, params=query, headers=ACCEPT).json()
    (first, *_) = found["@graph"]
    assert first["hasSimpleResult"] == pytest.approx(at(101))
    assert first["hasUnit"] == "http://qudt.org/vocab/unit/KiloW"
    window = {**query, "to": str(world.start + 160), "step": "30s", "coverage": "true"}
    rows = api.client.get(api.url + rack, params={**window, "format": "csv"}).text
    assert len(rows.splitlines()) == 3
    assert rows.splitlines()[1].endswith("30,30,")
    parquet = api.client.get(api.url + rack, params={**query, "format": "parquet"})
    assert parquet.content[:4] == b"PAR1"


def test_samples_of_many_telemetry_iris_may_have_virtual_ones(
    api: Closed, rack: str, world: World
) -> None:
    iris = [BASE + rack, f"{BASE}/{telemetry('power')}"]
    body = {"telemetry": iris, "from": world.start, "to": world.start + 60, "fn": "avg"}
    answer = api.client.post(
        f"{api.url}/samples", json=body, headers={"Accept": "text/csv"}
    )
    lines = answer.text.splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == iris


def test_samples_are_not_written(api: Closed, operator: str, rack: str) -> None:
    admin = api.add("boss", TokenRole.ADMIN)
    span = f"{rack}?from=now-1h&to=now"
    empty = f"{rack}?from="
    for method, path in (("DELETE", span), ("DELETE", empty), ("POST", rack)):
        answer = send(api, method, admin, path)
        assert (answer.status_code, code_of(answer)) == (405, "computed-samples")
    assert api.get(rack).status_code == 200


def test_bad_arguments_are_errors_as_for_any_telemetry(api: Closed, rack: str) -> None:
    for query in ("from=later", "from=now-1h&fn=rate", "from=now&to=now-1h"):
        answer = api.get(f"{rack}?{query}&format=csv")
        assert (answer.status_code, code_of(answer)) == (400, "bad-samples-call")
    assert code_of(api.get("/virtual/none?from=now-1h&format=csv")) == "unknown-virtual"


def test_change_that_would_break_others_is_a_conflict(
    api: Closed, operator: str, rack: str
) -> None:
    user = {"expression": "<virtual/rack> * 2"}
    assert send(api, "PUT", operator, "/virtual/user", user).status_code == 201
    energy = {"expression": f"integral({POWER})"}
    answer = send(api, "PUT", operator, rack, energy)
    assert (answer.status_code, code_of(answer)) == (409, "virtual-in-use")
    assert send(api, "DELETE", operator, "/virtual/user").status_code == 204


def test_token_of_one_host_sees_no_virtual_telemetry(
    api: Closed, operator: str, rack: str, world: World
) -> None:
    token = api.add("anna", TokenRole.OPERATOR, scope=Scope(hosts=("n1",)))
    for path in ("/virtual", rack, f"{rack}?from={world.start}&format=csv"):
        assert send(api, "GET", token, path).status_code == 403
    for method, body in (("PUT", RACK), ("DELETE", None)):
        assert send(api, method, token, rack, body).status_code == 403
    assert api.get(rack).status_code == 200


def test_one_that_cannot_be_computed_breaks_no_page(
    api: Closed, operator: str, rack: str, world: World
) -> None:
    send(api, "PUT", operator, "/virtual/broken", {"expression": POWER})
    world.rewrite(
        "broken", str(ST.expressionTree), '\'{"input":"urn:absent","unit":""}\''
    )
    for path in ("/virtual/broken", "/virtual", "/dashboards/virtual?host=n1"):
        answer = api.client.get(api.url + path, headers=ACCEPT)
        assert answer.status_code == 200, answer.text
    answer = api.get(f"/virtual/broken?from={world.start}&format=csv")
    assert (answer.status_code, code_of(answer)) == (400, "unknown-telemetry")
    assert send(api, "DELETE", operator, "/virtual/broken").status_code == 204


def test_infinite_values_are_served(api: Closed, operator: str, world: World) -> None:
    endless = {"expression": f"{POWER} / ({POWER} - {POWER})"}
    send(api, "PUT", operator, "/virtual/endless", endless)
    query = {"from": str(world.start + 100), "to": str(world.start + 102)}
    for kind, sign in (("text/csv", "inf"), (ACCEPT["Accept"], "INF")):
        answer = api.client.get(
            f"{api.url}/virtual/endless", params=query, headers={"Accept": kind}
        )
        assert answer.status_code == 200 and sign.lower() in answer.text.lower()
    assert send(api, "DELETE", operator, "/virtual/endless").status_code == 204


def test_command_line_has_all_steps(world: World, api: Closed) -> None:
    settings = {
        "HOME": str(world.settings.home),
        "BASE": BASE,
        "FUSEKI_URL": world.fuseki,
        "STORE_READ_URL": world.store,
    }
    expression = f"derivative({POWER} * 2)"
    done = supertwin(settings, "virtual", "add", "slope", "--expression", expression)
    assert (done.exit_code, done.stdout) == (
        0,
        f"added {BASE}/virtual/slope, without unit\n",
    )
    done = supertwin(
        settings,
        *("virtual", "add", "slope", "--expression", POWER, "--unit", "KiloW"),
        *("--label", "Kilo"),
    )
    assert done.stdout == f"replaced {BASE}/virtual/slope in unit:KiloW\n"
    said = [
        e["what"] for e in audit.events(world.settings.home) if e["thing"] == "slope"
    ]
    assert said == ["virtual.added", "virtual.changed"]
    listed = json.loads(
        supertwin(settings, "virtual", "list", "--format", "json").stdout
    )
    assert "slope" in json.dumps(listed)
    shown = json.loads(supertwin(settings, "virtual", "show", "slope", "--json").stdout)
    assert shown["inputs"] == [f"{BASE}/{telemetry('power')}"]
    assert shown["fault"] == ""
    assert "inputs     1" in supertwin(settings, "virtual", "show", "slope").stdout
    assert supertwin(settings, "virtual", "remove", "slope").exit_code == 0
    done = supertwin(settings, "virtual", "remove", "slope")
    assert done.exit_code == 2 and "[unknown-virtual]" in done.stderr
    done = supertwin(settings, "virtual", "add", "x", "--expression", f"{POWER} + 1")
    assert done.exit_code == 2 and "[unit-mismatch]" in done.stderr


def test_all_values_are_within_the_samples(rack: str, world: World) -> None:
    assert max(world.values("rack")) <= SECONDS
