"""The cases of the W3C's test suite of the SPARQL 1.1 protocol, as our own table.

https://www.w3.org/2009/sparql/docs/tests/data-sparql11/protocol/ has them in words. Its
cases of updates are cases of refusals here. Each row below is one request.
"""

from urllib.parse import urlencode

import httpx
import pytest

from tests.api.protocol_case import (
    Case,
    Pairs,
    allows,
    code,
    names,
    no_body,
    of_type,
    triples,
    true,
)

FORM, DIRECT = "application/x-www-form-urlencoded", "application/sparql-query"
UPDATE = "application/sparql-update"
TABLE = "application/sparql-results+json"
HERE = "http://twin.example:8000/graph/twin"
N1, N2 = f"{HERE}/n1", f"{HERE}/n2"
ASK = "ASK {}"
HOSTS = "SELECT ?name { ?host <https://w3id.org/supertwin/ns#hostname> ?name }"
NAMED = HOSTS.replace("{", "{ GRAPH ?graph {") + "}"
BOTH = f"{HOSTS[:-1]} OPTIONAL {{ GRAPH ?graph {{ ?node a ?kind }} }} }}"
FROM_N1 = HOSTS.replace("{", f"FROM <{N1}> {{", 1)
CORES = "CONSTRUCT WHERE { ?core a <https://w3id.org/supertwin/ns#Core> }"


def graphs(*pairs: tuple[str, str], query: str = HOSTS) -> Pairs:
    """Return a query with graphs of the protocol: ``default`` or ``named``, and IRI."""
    named = ((f"{kind}-graph-uri", iri) for kind, iri in pairs)
    return (("query", query), *named)


def form(*pairs: tuple[str, str]) -> str:
    return urlencode(pairs)


QUERIES = (
    Case("query_get", url=(("query", ASK),), holds=true),
    Case("query_post_form", "POST", (), FORM, form(("query", ASK)), holds=true),
    Case("query_post_direct", "POST", (), DIRECT, ASK, holds=true),
    Case(
        "query_post_direct_utf8",
        "POST",
        (),
        f'{DIRECT}; charset="UTF-8"',
        'ASK { BIND ("é" AS ?x) FILTER (STRLEN(?x) = 1) }'.encode(),
        holds=true,
    ),
    Case("query_get_utf8", url=(("query", 'ASK { FILTER ("é" = "é") }'),), holds=true),
    Case(
        "query_dataset_default_graph",
        "POST",
        graphs(("default", N1))[1:],
        DIRECT,
        HOSTS,
        holds=names("n1"),
    ),
    Case(
        "query_dataset_default_graphs_get",
        url=graphs(("default", N1), ("default", N2)),
        holds=names("n1", "n2"),
    ),
    Case(
        "query_dataset_default_graphs_post",
        "POST",
        (),
        FORM,
        form(*graphs(("default", N1), ("default", N2))),
        holds=names("n1", "n2"),
    ),
    Case(
        "query_dataset_named_graphs_get",
        url=graphs(("named", N1), ("named", N2), query=NAMED),
        holds=names("n1", "n2"),
    ),
    Case(
        "query_dataset_named_graphs_post",
        "POST",
        graphs(("named", N2))[1:],
        DIRECT,
        NAMED,
        holds=names("n2"),
    ),
    Case(
        "query_dataset_named_graphs_only",
        url=graphs(("named", N2)),
        holds=names(),
    ),
    Case(
        "query_dataset_full",
        "POST",
        (),
        FORM,
        form(*graphs(("default", N1), ("named", N2), query=BOTH)),
        holds=names("n1"),
    ),
    Case(
        "query_multiple_dataset: the protocol overrides FROM",
        url=graphs(("default", N2), query=FROM_N1),
        holds=names("n2"),
    ),
    Case("query_from", url=graphs(query=FROM_N1), holds=names("n1")),
    Case(
        "query_dataset_unknown_graph",
        url=graphs(("default", f"{HERE}/none")),
        holds=names(),
    ),
)
CONTENT_TYPES = (
    *(
        Case(f"query_content_type_select {one}", url=graphs(), accept=one, holds=found)
        for one, found in (
            (TABLE, of_type(TABLE)),
            ("application/json", of_type("application/json")),
            ("text/csv", of_type("text/csv")),
            ("text/tab-separated-values", of_type("text/tab-separated-values")),
            ("application/sparql-results+xml", of_type(f"{TABLE[:-4]}xml")),
            ("text/csv;q=0.5, application/sparql-results+json", of_type(TABLE)),
            ("application/*", of_type(TABLE)),
        )
    ),
    Case("query_content_type_ask", url=(("query", ASK),), holds=of_type(TABLE)),
    *(
        Case(
            f"query_content_type {one}", url=(("query", CORES),), accept=one, holds=is_
        )
        for one, is_ in (
            ("*/*", triples),
            ("text/turtle", triples),
            ("application/rdf+xml", of_type("application/rdf+xml")),
            ("application/n-triples", of_type("application/n-triples")),
            ("application/ld+json", of_type("application/ld+json")),
        )
    ),
    Case(
        "query_content_type_describe",
        url=(("query", f"DESCRIBE <{N1.replace('/graph', '')}>"),),
        holds=triples,
    ),
    Case("no_such_format", url=graphs(), accept="image/png", status=406),
    Case("no_table_as_rdf", url=graphs(), accept="text/turtle", status=406),
)
REFUSED = (
    Case("bad_query_method PUT", "PUT", (), DIRECT, ASK, status=405),
    Case("bad_query_method PATCH", "PATCH", (), DIRECT, ASK, status=405),
    Case("bad_query_method DELETE", "DELETE", graphs(), status=405),
    Case(
        "bad_multiple_queries",
        url=(("query", ASK), ("query", "SELECT * {}")),
        status=400,
        holds=code("one-query"),
    ),
    Case(
        "bad_multiple_queries: in body and URL",
        "POST",
        (("query", ASK),),
        FORM,
        form(("query", ASK)),
        status=400,
        holds=code("one-query"),
    ),
    Case(
        "bad_multiple_queries: a query in the URL of a direct query",
        "POST",
        (("query", ASK),),
        DIRECT,
        ASK,
        status=400,
        holds=code("one-query"),
    ),
    Case(
        "bad_query_wrong_media_type",
        "POST",
        (),
        "text/plain",
        ASK,
        status=415,
        holds=code("unsupported-media-type"),
    ),
    Case("bad_query_missing_form_type", "POST", body="query=ASK%20%7B%7D", status=415),
    Case("bad_query_missing_direct_type", "POST", body=ASK, status=415),
    Case(
        "bad_query_non_utf8",
        "POST",
        (),
        f"{DIRECT}; charset=UTF-16",
        ASK.encode("utf-16"),
        status=415,
        holds=code("unsupported-media-type"),
    ),
    Case(
        "bad_query_non_utf8: bytes",
        "POST",
        (),
        DIRECT,
        b'ASK { FILTER ("\xe9" = "") }',
        status=400,
        holds=code("not-utf-8"),
    ),
    Case(
        "bad_query_non_utf8: a form",
        "POST",
        (),
        FORM,
        b"query=ASK%20%7B%7D%20%23%E9",
        status=400,
        holds=code("not-utf-8"),
    ),
    Case(
        "bad_query_syntax",
        url=(("query", "ASK {"),),
        status=400,
        holds=code("syntax-error"),
    ),
    Case(
        "bad_query_empty",
        "POST",
        (),
        DIRECT,
        "",
        status=400,
        holds=code("syntax-error"),
    ),
    Case("bad_query_missing", "POST", (), FORM, status=400, holds=code("one-query")),
    *(
        Case(
            f"bad_graph_iri {iri!r}",
            url=graphs(("default", iri)),
            status=400,
            holds=code("bad-graph-iri"),
        )
        for iri in ("", "no iri", "relative", "a:b>", "a:\u0001")
    ),
    *(
        Case(
            f"update_get {name}",
            url=((name, "CLEAR ALL"),),
            status=400,
            holds=code("update-refused"),
        )
        for name in ("query", "update")
    ),
    Case(
        "update_post_form",
        "POST",
        (),
        FORM,
        form(("update", "CLEAR ALL")),
        status=400,
        holds=code("update-refused"),
    ),
    Case(
        "update_post_direct",
        "POST",
        (),
        UPDATE,
        "CLEAR ALL",
        status=400,
        holds=code("update-refused"),
    ),
    Case(
        "bad_update_dataset_conflict",
        "POST",
        (("using-graph-uri", N1),),
        UPDATE,
        f"WITH <{N1}> DELETE WHERE {{ ?s ?p ?o }}",
        status=400,
        holds=code("update-refused"),
    ),
)
METHODS = (
    Case("head", "HEAD", graphs(), holds=no_body),
    Case("head_description", "HEAD", holds=no_body),
    Case("head_bad_query", "HEAD", (("query", "ASK {"),), status=400),
    Case("options", "OPTIONS", status=405, holds=allows("GET", "HEAD", "POST")),
    Case("description", holds=of_type("text/turtle")),
)
CASES = (*QUERIES, *CONTENT_TYPES, *REFUSED, *METHODS)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_request_is_answered_as_the_protocol_says(
    api: httpx.Client, case: Case
) -> None:
    answer = api.request(
        case.method,
        "/sparql",
        params=case.url or None,
        content=case.body or None,
        headers={"Accept": case.accept}
        | ({"Content-Type": case.sends} if case.sends else {}),
    )
    assert answer.status_code == case.status, answer.text
    assert case.holds(answer), answer.text
    if case.status >= 400 and case.method != "HEAD":
        assert answer.headers["content-type"] == "application/problem+json"
        assert "\n" not in answer.json()["detail"]


def test_cases_are_all_different() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
