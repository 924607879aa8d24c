"""Functions of samples through clients that know nothing of them."""

import json
import subprocess
from typing import Any

import httpx
import pytest
from rdflib import Graph
from rdflib.plugins.stores.sparqlstore import SPARQLStore
from SPARQLWrapper import JSON, SPARQLWrapper

from tests.dashboards.node import MODULES, node
from tests.servers import ROOT

QUERY = """PREFIX st: <https://w3id.org/supertwin/ns#>
SELECT ?cpu ?value {
  ?telemetry st:samplerName "kernel.percpu.cpu.user" ; st:instname ?cpu .
  ?telemetry st:count ("now-1h" "now" ?value)
}"""


@pytest.fixture
def value(sampled: httpx.Client) -> str:
    """Return the answer; other tests write samples of this series, too."""
    headers = {"Accept": "text/csv"}
    answer = sampled.get("/sparql", params={"query": QUERY}, headers=headers)
    _, row = answer.text.splitlines()
    assert int(row.removeprefix("cpu0,")) >= 2
    return row.removeprefix("cpu0,")


def test_rdflib(sampled: httpx.Client, value: str) -> None:
    graph = Graph(SPARQLStore(f"{sampled.base_url}/sparql"))
    assert [tuple(map(str, row)) for row in graph.query(QUERY)] == [("cpu0", value)]


def test_curl(sampled: httpx.Client, value: str) -> None:
    url = f"{sampled.base_url}/sparql"
    command = ["curl", "-sS", url, "-H", "Accept: text/csv", "--data-urlencode"]
    done = subprocess.run(
        [*command, f"query={QUERY}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["cpu,value", f"cpu0,{value}"]


def test_sparqlwrapper(sampled: httpx.Client, value: str) -> None:
    client = SPARQLWrapper(f"{sampled.base_url}/sparql", returnFormat=JSON)
    client.setQuery(QUERY)
    answer: Any = client.queryAndConvert()
    (row,) = answer["results"]["bindings"]
    assert {name: cell["value"] for name, cell in row.items()} == {
        "cpu": "cpu0",
        "value": value,
    }


def test_comunica(sampled: httpx.Client, value: str) -> None:
    runner = ROOT / "tests/dashboards/comunica.mjs"
    done = subprocess.run(
        [node(), runner, MODULES, f"{sampled.base_url}/sparql"],
        input=json.dumps([QUERY]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [
        {"columns": ["cpu", "value"], "rows": [["cpu0", value]]}
    ]
