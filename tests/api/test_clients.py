"""Functions of samples through clients that know nothing of them."""

import json
import subprocess
from typing import Any

import httpx
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


def test_rdflib(sampled: httpx.Client) -> None:
    graph = Graph(SPARQLStore(f"{sampled.base_url}/sparql"))
    assert [tuple(map(str, row)) for row in graph.query(QUERY)] == [("cpu0", "2")]


def test_curl(sampled: httpx.Client) -> None:
    url = f"{sampled.base_url}/sparql"
    command = ["curl", "-sS", url, "-H", "Accept: text/csv", "--data-urlencode"]
    done = subprocess.run(
        [*command, f"query={QUERY}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["cpu,value", "cpu0,2"]


def test_sparqlwrapper(sampled: httpx.Client) -> None:
    client = SPARQLWrapper(f"{sampled.base_url}/sparql", returnFormat=JSON)
    client.setQuery(QUERY)
    answer: Any = client.queryAndConvert()
    (row,) = answer["results"]["bindings"]
    assert {name: cell["value"] for name, cell in row.items()} == {
        "cpu": "cpu0",
        "value": "2",
    }


def test_comunica(sampled: httpx.Client) -> None:
    runner = ROOT / "tests/dashboards/comunica.mjs"
    done = subprocess.run(
        [node(), runner, MODULES, f"{sampled.base_url}/sparql"],
        input=json.dumps([QUERY]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [
        {"columns": ["cpu", "value"], "rows": [["cpu0", "2"]]}
    ]
