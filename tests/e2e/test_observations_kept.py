"""Recorded runs over HTTP: at their IRIs, their series, side by side, taken away."""

import json

import httpx
import pytest

from tests.stack import Stack

pytestmark = pytest.mark.e2e


def test_a_run_at_its_own_iri_and_what_is_kept_of_it(
    operator: httpx.Client, stack: Stack, pair: dict[str, str]
) -> None:
    id_ = f"{pair['long']}-1"
    turtle = operator.get(f"/observation/{id_}?format=turtle")
    assert turtle.headers["content-type"].startswith("text/turtle")
    assert "st:ObservationInterface" in turtle.text
    parts = ("surroundings", "summary/kernel.all.pswitch/~7E")
    for part in parts:
        answer = operator.get(f"/observation/{id_}/{part}")
        assert answer.status_code == 200, part
        assert f"/observation/{id_}/{part}" in answer.text
    unknown = operator.get("/observation/none")
    assert unknown.status_code == 404
    assert "no run 'none' is recorded" in unknown.json()["detail"]
    assert "0.9" in operator.get(f"/observations/{id_}/program").text
    printed = operator.get(f"/observations/{id_}/output").json()
    assert printed["stdout"] == {"bytes": 0, "head": "", "tail": "", "cut": 0}
    for path in ("..", "none", "%2e%2e%2faccess"):
        assert operator.get(f"/observations/{path}/output").status_code == 404, path
    for path in (f"/observations/{id_}/program", f"/export/observation?id={id_}"):
        assert httpx.get(stack.api + path, trust_env=False).status_code == 401, path
    table = operator.get(f"/export/observation?id={id_}&format=csv").text
    assert table.startswith("series,hostname,instance,time_ms,value\nkernel_")
    crate = operator.get(f"/export/observation?id={id_}")
    assert crate.headers["content-type"] == "application/zip"
    assert crate.content.startswith(b"PK")
    graph = operator.get(f"/export/observation?id={id_}&format=jsonld")
    assert f"/observation/{id_}" in graph.text
    assert graph.json()["@context"].endswith("/context.jsonld")


def test_series_are_told_from_the_start(
    operator: httpx.Client, stack: Stack, pair: dict[str, str]
) -> None:
    asked = {"metric": "kernel.all.pswitch"}
    path = f"/observations/{pair['long']}-1/series"
    found = operator.get(path, params=asked).json()
    assert -0.011 <= found["times"][0] < 0.1
    assert found["times"][-1] > 0.85
    assert len(found["times"]) == len(found["values"][0]) > 10
    total = sum(value for value in found["values"][0] if value) * found["step"]
    node = f"{stack.base}/observation/{pair['long']}-1"
    (row,) = operator.get(
        "/queries/observations/statistics.json", params={"id": node, **asked}
    ).json()["results"]["bindings"]
    assert total == pytest.approx(float(row["total"]["value"]), rel=0.5)
    few = operator.get(path, params={**asked, "points": 5}).json()
    assert len(few["times"]) <= 7
    bad = operator.get(path, params={**asked, "start": 1, "end": 0})
    assert (bad.status_code, bad.json()["title"]) == (400, "Not a range of time")
    missing = operator.get(path, params={"metric": "no.such"})
    assert "has no summary of 'no.such'" in missing.json()["detail"]
    both = {"id": list(pair.values()), **asked}
    found = operator.get("/observations/compare/series", params=both).json()
    short, long = found["values"]
    assert len([v for v in long if v]) > 3 * len([v for v in short if v])


def test_a_comparison_as_json_is_that_of_the_command_line(
    operator: httpx.Client, stack: Stack, pair: dict[str, str]
) -> None:
    ids = [pair["short"], pair["long"]]
    found = operator.get("/observations/compare", params={"id": ids}).json()
    printed = json.loads(stack.run("compare", *ids, "--json").stdout)
    assert found["measures"] == printed["measures"]
    assert found["measures"][0]["verdicts"][0]["word"] == "worse"
    assert found["differences"] == printed["differences"]
    alone = operator.get("/observations/compare", params={"id": ids[:1]})
    assert "name two or more" in alone.json()["detail"]
    missing = operator.get("/observations/compare", params={"id": [ids[0], "none"]})
    assert missing.status_code == 404
    assert "'none'" in missing.json()["detail"]
