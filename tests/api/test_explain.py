"""``/sparql`` with ``explain``, and errors of functions of samples as problems."""

from datetime import UTC, datetime

import httpx

_LAST = """PREFIX st: <https://w3id.org/supertwin/ns#>
SELECT * { ?t a st:SWTelemetry ; st:instname "cpu0" . ?t st:max ("now-1m" "now" ?v) }"""


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


def test_parameter_in_the_address_counts_for_a_form_too(sampled: httpx.Client) -> None:
    answer = sampled.post("/sparql?explain=true", data={"query": _LAST})
    assert [request["path"] for request in answer.json()] == ["/api/v1/query"]


def test_now_of_samples_is_the_time_of_the_query(sampled: httpx.Client) -> None:
    form = {"query": _LAST, "explain": "true", "asof": "2026-11-02T08:00:00Z"}
    (request,) = sampled.post("/sparql", data=form).raise_for_status().json()
    assert float(request["time"]) == datetime(2026, 11, 2, 8, tzinfo=UTC).timestamp()


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


def test_samples_from_before_a_change_are_a_warning(sampled: httpx.Client) -> None:
    from_ = "'2026-11-03T00:00:00Z'^^<http://www.w3.org/2001/XMLSchema#dateTime>"
    query = _LAST.replace('"now-1m"', from_)
    warnings = [
        sampled.post("/sparql", data=form).headers.get("SuperTwin-Warning", "")
        for form in (
            {"query": query},
            {"query": query, "asof": "2026-11-03T12:00"},
            {"query": _LAST},
        )
    ]
    assert "n1 changed at 2026-11-04T00:00:02.000Z" in warnings[0]
    assert "n1 changed at 2026-11-03T00:00:02.000Z" in warnings[1]
    assert not warnings[2]
