"""Functions of samples through clients that know nothing of them."""

import subprocess

import httpx
from rdflib import Graph
from rdflib.plugins.stores.sparqlstore import SPARQLStore

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
