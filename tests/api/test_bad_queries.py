"""Bad requests to /sparql get one clear problem and change nothing."""

from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

COUNT = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"
SERVICE = "SERVICE <http://127.0.0.1:9/> {}"


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert document["status"] == status
    assert "\n" not in document["detail"] and "Traceback" not in answer.text
    return document


def post(api: httpx.Client, content: bytes | str, kind: str) -> httpx.Response:
    return api.post("/sparql", content=content, headers={"Content-Type": kind})


def count(api: httpx.Client) -> str:
    rows = api.get("/sparql", params={"query": COUNT}).json()["results"]["bindings"]
    return str(rows[0]["n"]["value"])


UPDATES = ["INSERT DATA { <a:a> <a:b> 1 }", "DELETE WHERE { ?s ?p ?o }", "DROP ALL"]


@pytest.mark.parametrize("update", UPDATES)
def test_update_is_refused_in_every_form(api: httpx.Client, update: str) -> None:
    before = count(api)
    answers = [
        api.get("/sparql", params={"query": update}),
        api.get("/sparql", params={"update": update}),
        api.post("/sparql", data={"query": update}),
        api.post("/sparql", data={"update": update}),
        post(api, update, "application/sparql-query"),
        post(api, update, "application/sparql-update"),
    ]
    for answer in answers:
        assert "only queries are run here" in problem(answer, 400)["detail"]
    followed = f"ASK {{}} ; {update}"
    problem(api.get("/sparql", params={"query": followed}), 400)
    assert count(api) == before


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT * {{ {SERVICE} }}",
        "SELECT * { service silent ?x {} }",
        f"SELECT * {{ ?s ?p 1{SERVICE} }}",
        f"SELECT * {{ ?s ?p 1e5{SERVICE} }}",
        f"SELECT * {{ ?s ?p true {SERVICE} }}",
        f"SELECT * {{ # \r{SERVICE} }}",
        f"SELECT * {{ ?s ?p 'a\\\\'{SERVICE}#\n }}",
        f"SELECT * {{ {{ SELECT * {{ {SERVICE} }} }} }}",
        f"ASK {{ FILTER EXISTS {{ {SERVICE} }} }}",
        f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o OPTIONAL {{ {SERVICE} }} }}",
    ],
)
def test_service_is_refused_in_every_spelling(api: httpx.Client, query: str) -> None:
    found = problem(api.post("/sparql", data={"query": query}), 400)
    assert found["type"].endswith("/service-refused")


@pytest.mark.parametrize("text", [f'"{SERVICE}"', f"1 # {SERVICE}\n"])
def test_service_in_a_string_or_comment_is_accepted(
    api: httpx.Client, text: str
) -> None:
    query = f"ASK {{ ?s ?p {text} }}"
    assert api.get("/sparql", params={"query": query}).status_code == 200


@pytest.mark.parametrize(
    "iri",
    [
        *("java:org.apache.jena.Wait", "JAVA:x", r"j\u0061va:x", r"\U0000006Aava:x"),
        "http://jena.apache.org/ARQ/function#wait",
    ],
)
def test_functions_of_the_graph_store_are_refused(api: httpx.Client, iri: str) -> None:
    prefixed = f"PREFIX f: <{iri}> SELECT (f:(1) AS ?x) {{}}"
    for query in (prefixed, f"SELECT (<{iri}>(1) AS ?x) {{}}"):
        found = problem(api.get("/sparql", params={"query": query}), 400)
        assert found["type"].endswith("/function-refused")
    query = f'SELECT ("<{iri}>" AS ?x) {{}}'.replace("\\", "")
    assert api.get("/sparql", params={"query": query}).status_code == 200


@pytest.mark.parametrize("params", [{"query": ["ASK {}", "ASK {}"]}, {"q": "ASK {}"}])
def test_exactly_one_query_is_accepted(
    api: httpx.Client, params: dict[str, Any]
) -> None:
    found = problem(api.get("/sparql", params=params), 400)
    assert "send exactly one" in found["detail"]
    problem(api.post("/sparql", data=params), 400)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * { ?s ?p }", "line 1, column 18"),
        ("SELECT *\n{ ?s x:p 1 }", "x:p"),
        ('SELECT * { ?s ?p "', "line 1"),
        ("SELECT ?x (1 AS ?x) {}", "?x"),
        ("SELECT * { x:é ?p ?o }", "beyond ASCII"),
        ("ASK \0 {}", "line 1"),
        ("SELECT * " + "{" * 20_000 + "}" * 20_000, "nested too deeply"),
        ("", "none of SELECT"),
        ("EXPLAIN SELECT * {}", "'EXPLAIN' at line 1"),
    ],
    ids=lambda text: text[:20].replace("\0", "0"),
)
def test_syntax_error_names_its_position(
    api: httpx.Client, query: str, message: str
) -> None:
    found = problem(api.post("/sparql", data={"query": query}), 400)
    assert found["type"].endswith("/syntax-error")
    assert message in found["detail"]


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "", "x"])
def test_other_body_types_are_415(api: httpx.Client, kind: str) -> None:
    answer = post(api, "ASK {}", kind)
    assert kind in problem(answer, 415)["detail"]
    assert "application/sparql-query" in answer.headers["accept-post"]


@pytest.mark.parametrize("path", ["/sparql?query=%ff", "/sparql?query=ASK{}%C3"])
def test_query_that_is_not_utf_8_is_refused(api: httpx.Client, path: str) -> None:
    assert "UTF-8" in problem(api.get(path), 400)["detail"]
    for kind in ("application/sparql-query", "application/x-www-form-urlencoded"):
        assert "UTF-8" in problem(post(api, b"query=ASK{} \xff", kind), 400)["detail"]


def test_huge_query_is_refused(api: httpx.Client) -> None:
    huge = "ASK {} #" + "x" * 1024 * 1024
    for kind in ("application/sparql-query", "application/x-www-form-urlencoded"):
        found = problem(post(api, huge, kind), 413)
        assert "1048576 bytes" in found["detail"]
    chunks = (b"x" * 65536 for _ in range(17))
    kind = {"Content-Type": "application/sparql-query"}
    problem(api.post("/sparql", content=chunks, headers=kind), 413)


def test_too_many_parameters_are_refused(api: httpx.Client) -> None:
    path = "/sparql?query=ASK{}" + "&default-graph-uri=a:a" * 300
    assert "parameters" in problem(api.get(path), 400)["detail"]


FRAGMENTS = [
    *("'", '"', "'''", '"""', "\\", "\\'", "\n", "\r", "#", "<", ">", "<http://x/"),
    *("?x", "@en", "x:a", "x:", "x:a\\#", ":", "_:b", "1", "1e5", ".5", "true", "a"),
    *(".", ";", "{", "}", "(", ")", "^^", "<<", "·", "é", "\ufeff", "\\u0022", "ſ"),
    *(" ", SERVICE, "OPTIONAL {", "FILTER(", "?s ?p ?o", "SERVICE", "%41"),
]
SHAPES = [
    "SELECT * {{ {0} }}",
    "PREFIX x: <http://x/> ASK {{ ?s ?p {0}{1} }}",
    'ASK {{ ?s ?p "{0}{1}" }}',
    "ASK {{ ?s ?p <{0}> . {1} }}",
    "ASK {{ }} #{0}{1}",
]


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.sampled_from(SHAPES),
    st.lists(st.sampled_from(FRAGMENTS), max_size=6).map("".join),
    st.lists(st.sampled_from(FRAGMENTS), max_size=3).map("".join),
)
def test_no_text_makes_the_graph_store_call_a_service(
    fuseki: str, shape: str, first: str, second: str
) -> None:
    query = shape.format(first + SERVICE, second)
    answer = httpx.post(f"{fuseki}/twin/sparql", data={"query": query}, timeout=120)
    assert "SERVICE execution disabled" not in answer.text
