"""``/sparql?asof=…``: the twins as they were."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from core.stores.endpoint import Endpoint
from tests.api import graph

DATA = Path(__file__).parents[1] / "queries" / "hosts" / "history.trig"
N1 = f"{graph.BASE}/twin/n1"
TWIN, HISTORY = (f"{graph.BASE}/graph/{name}" for name in ("twin/n1", "history/n4"))
_PREFIXES = """PREFIX st: <https://w3id.org/supertwin/ns#>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX sosa: <http://www.w3.org/ns/sosa/>
"""
_KERNEL = f'SELECT ?v {{ <{N1}> st:kernelRelease ?v FILTER (?v != "6.1.0") }}'
_NOW = f"""<{N1}> st:kernelRelease "6.2" .
  <{N1}/disk/sda> st:firmwareVersion "2" . <{N1}/disk/sdb> a st:Disk ."""


@pytest.fixture(scope="module", autouse=True)
def past(fuseki: str) -> Iterator[None]:
    """Add three states of n1, and its facts now; remove them at the end."""
    text = DATA.read_text().replace("http://localhost:8000", str(graph.BASE))
    with Endpoint(f"{fuseki}/history") as history, Endpoint(f"{fuseki}/twin") as twin:
        headers = {"Content-Type": "application/trig"}
        url = f"{fuseki}/history/data"
        httpx.post(url, content=text, headers=headers).raise_for_status()
        twin.update(f"{_PREFIXES} INSERT DATA {{ GRAPH <{TWIN}> {{ {_NOW} }} }}")
        yield
        history.update("DROP ALL")
        twin.update(f"{_PREFIXES} DELETE DATA {{ GRAPH <{TWIN}> {{ {_NOW} }} }}")


def rows(api: httpx.Client, query: str, asof: str = "") -> list[list[str]]:
    form = {"query": _PREFIXES + query} | ({"asof": asof} if asof else {})
    answer = api.post("/sparql", data=form, headers={"Accept": "text/csv"})
    lines = answer.raise_for_status().text.splitlines()[1:]
    return sorted(line.split(",") for line in lines)


@pytest.mark.parametrize(
    ("asof", "release"),
    [("2026-11-02", "6.1"), ("2026-11-03T12:00:00Z", "6.2"), ("", "6.2")],
)
def test_changed_value_is_that_of_the_time(
    api: httpx.Client, asof: str, release: str
) -> None:
    assert rows(api, _KERNEL, asof) == [[release]]


def test_components_are_those_of_the_time(api: httpx.Client) -> None:
    query = f"""SELECT ?part {{ ?part a ?kind ; st:ofHost <{N1}>
      FILTER (?kind IN (st:MemoryBank, st:Disk) && !STRENDS(STR(?part), "b")) }}"""
    assert rows(api, query, "2026-11-02") == [[f"{N1}/memory/A1"]]
    assert not rows(api, query, "2026-11-03T12:00")
    disk = f"SELECT ?g {{ GRAPH ?g {{ <{N1}/disk/sdb> a st:Disk }} }}"
    found = [len(rows(api, disk, asof)) for asof in ("2026-11-02", "2026-11-03T12", "")]
    assert found == [1, 0, 1]


def test_superclasses_follow_from_the_facts_of_the_time(api: httpx.Client) -> None:
    query = f"SELECT ?kind {{ <{N1}/memory/A1> a ?kind, sosa:FeatureOfInterest }}"
    assert len(rows(api, query, "2026-11-02")) > 1
    assert not rows(api, query)


def test_host_that_was_not_known_yet_is_absent(api: httpx.Client) -> None:
    query = "SELECT ?name { ?host a st:ComputeNode ; st:hostname ?name }"
    assert rows(api, query, "2026-11-01T12:00") == [["n1"]]
    assert rows(api, query, "2026-11-02T12:00") == [["n1"], ["n2"]]
    assert not rows(api, query, "2026-10-01")
    graphs = rows(api, "SELECT ?g { GRAPH ?g {} }", "2026-10-01")
    assert [TWIN] not in graphs
    assert [f"{graph.BASE}/graph/metrics"] in graphs


def test_time_of_the_query_is_that_time(api: httpx.Client) -> None:
    (found,) = rows(api, "SELECT (NOW() AS ?now) {}", "2026-11-02T08:00:00Z")
    assert found == ["2026-11-02T08:00:00+00:00"]


@pytest.mark.parametrize("asof", ["yesterday", "2999-01-01"])
def test_time_that_is_not_past_is_refused(api: httpx.Client, asof: str) -> None:
    answer = api.get("/sparql", params={"query": "ASK {}", "asof": asof})
    assert answer.status_code == 400
    assert answer.json()["type"].endswith("/bad-time")


def test_gap_in_a_history_is_an_error(api: httpx.Client, fuseki: str) -> None:
    states = "".join(
        f"""<{graph.BASE}/twin/n4/state/{number}> a st:TwinState ;
          st:stateNumber {number} ; prov:specializationOf <{graph.BASE}/twin/n4> ;
          prov:generatedAtTime "2026-11-{day}T00:00:00Z"^^xsd:dateTime ."""
        for number, day in ((1, "01"), (2, "10"))
    )
    facts = f'<{graph.BASE}/twin/n4> st:hostname "n4" . {states}'
    with Endpoint(f"{fuseki}/history") as history:
        history.update(f"{_PREFIXES} INSERT DATA {{ GRAPH <{HISTORY}> {{ {facts} }} }}")
        answers = [
            api.get("/sparql", params={"query": "ASK {}", "asof": asof})
            for asof in ("2026-11-05", "2026-11-11")
        ]
        history.update(f"DROP GRAPH <{HISTORY}>")
    assert answers[0].json()["type"].endswith("/no-such-state")
    assert answers[1].status_code == 200
