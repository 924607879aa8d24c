"""``/sparql`` with ``explain``, and errors of functions of samples as problems."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api import graph
from tests.api.servers import Api
from tests.servers import Fuseki

_LAST = """PREFIX st: <https://w3id.org/supertwin/ns#>
SELECT * { ?t a st:SWTelemetry ; st:instname "cpu0" . ?t st:max ("now-1m" "now" ?v) }"""


@pytest.fixture(scope="module")
def sampled(
    tmp_path_factory: pytest.TempPathFactory, store: str, base: str
) -> Iterator[httpx.Client]:
    """Return a client of an API whose Fuseki reads the series store."""
    home: Path = tmp_path_factory.mktemp("sampled")
    with Fuseki(home / "fuseki", store) as fuseki:
        url = f"{fuseki.url}/twin/update"
        httpx.post(url, data={"update": graph.TWIN}).raise_for_status()
        settings = {"home": str(home), "base": base, "host": "n1"}
        stores = {"fuseki_url": fuseki.url, "store_read_url": store}
        with (
            Api(home / "api", **settings, **stores) as server,
            httpx.Client(base_url=server.url, timeout=120, trust_env=False) as client,
        ):
            yield client


def test_explain_answers_the_requests_to_the_store(sampled: httpx.Client) -> None:
    form = {"query": _LAST, "explain": "true"}
    (request,) = sampled.post("/sparql", data=form).raise_for_status().json()
    assert request["path"] == "/api/v1/query"
    expression = 'kernel_percpu_cpu_user{hostname="n1",instname="cpu0"}[60000ms]'
    assert request["query"] == f"max_over_time({expression})"


def test_explain_works_for_a_query_in_the_body(sampled: httpx.Client) -> None:
    headers = {"Content-Type": "application/sparql-query"}
    answer = sampled.post("/sparql?explain=true", content=_LAST, headers=headers)
    assert len(answer.json()) == 1


def test_query_without_samples_explains_nothing(sampled: httpx.Client) -> None:
    form = {"query": "ASK { ?s ?p ?o }", "explain": "true"}
    assert sampled.post("/sparql", data=form).json() == []


def test_error_of_a_function_is_a_problem(sampled: httpx.Client) -> None:
    query = _LAST.replace("now-1m", "now-1x")
    answer = sampled.get("/sparql", params={"query": query})
    assert answer.status_code == 400
    assert answer.json()["type"].endswith("/bad-samples-call")


def test_store_that_is_away_is_a_problem(api: httpx.Client) -> None:
    answer = api.get("/sparql", params={"query": _LAST})
    assert answer.status_code == 503
    assert answer.json()["type"].endswith("/store-away")
