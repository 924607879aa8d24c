"""Saved queries are URLs whose parameters are bound, never spliced."""

from typing import Any

import httpx
import pytest

from queries.catalogue import load_catalogue

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
SHARING = "/queries/cache/sharing"


def rows(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]["bindings"]
    return found


def test_list_has_every_query(api: httpx.Client, base: str) -> None:
    listed = {query["name"]: query for query in api.get("/queries").json()}
    assert listed.keys() == load_catalogue().keys()
    sharing = listed["cache/sharing"]
    assert sharing["url"] == f"{base}{SHARING}"
    assert sharing["params"]["cpu"]["type"] == "integer"
    assert sharing["params"]["cpu"]["default"] == 0
    assert "thread" in sharing["returns"] and sharing["title"]
    page = api.get("/queries", headers=BROWSER)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert f'href="{SHARING}"' in page.text


@pytest.mark.parametrize(
    "path",
    [
        *("/observations", "/queries/observations/runs"),
        *("/queries/observations/by-metric", "/queries/observations/outliers"),
    ],
)
def test_time_field_names_its_zone(api: httpx.Client, path: str) -> None:
    """Without JavaScript the zone is UTC."""
    page = api.get(path, headers=BROWSER).text
    for about in ("Not before this time", "Before this time"):
        assert f"{about} (<span data-zone>UTC</span>), such as 2026-" in page


def test_pages_show_units_as_people_write_them(api: httpx.Client) -> None:
    path, unit = "/queries/telemetry/metrics", "http://qudt.org/vocab/unit/MilliSEC"
    page = api.get(path, headers=BROWSER).text
    assert f' title="{unit}">ms<' in page
    assert "unit:" not in page
    assert unit in api.get(f"{path}.csv").text


def test_every_query_runs_with_its_defaults(sampled: httpx.Client) -> None:
    for name, query in load_catalogue().items():
        answer = sampled.get(f"/queries/{name}")
        assert answer.status_code == 200, f"{name}: {answer.text}"
        assert answer.json()["head"]["vars"] == query.returns


def test_parameters_are_bound(api: httpx.Client) -> None:
    found = rows(api.get(SHARING, params={"host": "n1", "cpu": "1", "level": "2"}))
    assert [row["cpu"]["value"] for row in found] == ["0"]
    assert rows(api.get(SHARING, params={"host": "n2"})) == []
    assert rows(api.get(SHARING, params={"host": ""})) == rows(api.get(SHARING))


def test_unknown_host_is_refused_by_every_query(api: httpx.Client) -> None:
    about_a_host = [
        name for name, query in load_catalogue().items() if "host" in query.params
    ]
    assert len(about_a_host) > 70
    for name in about_a_host:
        answer = api.get(f"/queries/{name}", params={"host": "n9"})
        assert answer.status_code == 404, name
        assert answer.json()["type"].endswith("/unknown-host"), name
        assert answer.json()["detail"] == "no host 'n9'; known: n1, n2"


def test_page_names_an_unknown_host(api: httpx.Client) -> None:
    page = api.get(SHARING, params={"host": "n9"}, headers=BROWSER)
    assert page.status_code == 404
    assert "known: n1, n2" in page.text and "0 rows" not in page.text


def test_text_of_a_query_needs_no_host(api: httpx.Client) -> None:
    assert '("n9" 0' in api.get(f"{SHARING}.rq", params={"host": "n9"}).text


def test_tables_are_served_in_every_format(api: httpx.Client) -> None:
    csv = api.get(SHARING, headers={"Accept": "text/csv"})
    assert csv.text.splitlines()[0] == "host,thread,cpu,cache"
    bound = api.get(
        SHARING, params={"cpu": "1"}, headers={"Accept": "application/sparql-query"}
    )
    assert bound.headers["content-type"] == "application/sparql-query"
    assert "(UNDEF 1 2" in bound.text
    refused = api.get(SHARING, headers={"Accept": "text/turtle"})
    assert refused.status_code == 406


def test_page_escapes_values(api: httpx.Client) -> None:
    page = api.get(SHARING, params={"host": '"><b>n1'}, headers=BROWSER)
    assert page.status_code == 404
    assert "<b>n1" not in page.text and "&#34;&gt;&lt;b&gt;n1" in page.text
    page = api.get(SHARING, params={"cpu": "1"}, headers=BROWSER)
    assert 'href="/twin/n1/thread/0"' in page.text


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"cpu": "x"}, "cpu"),
        ({"cpu": "0 } UNION { ?s ?p ?o"}, "cpu"),
        ({"cpu": "1", "level": "2.5"}, "level"),
        ({"type": "both"}, "type"),
        ({"colour": "red"}, "colour"),
        ({"cpu": ["1", "2"]}, "cpu"),
        ({"colour": ""}, "colour"),
    ],
)
def test_invalid_parameter_is_named(
    api: httpx.Client, params: dict[str, Any], name: str
) -> None:
    answer = api.get(SHARING, params=params)
    assert answer.status_code == 400
    assert answer.json()["parameter"] == name
    assert name in answer.json()["detail"]


@pytest.mark.parametrize(
    "text",
    [
        '" } INSERT DATA { <a:a> <a:b> 1 } #',
        '") } SELECT * { ?s ?p ?o } #',
        '"\\',
        "\\u0022) } #",
        '"""',
        "n1\n\r\t",
        "\0",
        "SERVICE <http://127.0.0.1:9/> {}",
        "<script>alert(1)</script>",
        "é😀\u202e",
        "x" * 5000,
    ],
    ids=lambda text: repr(text)[:20],
)
def test_injected_quote_stays_text(api: httpx.Client, text: str) -> None:
    answer = api.get(SHARING, params={"host": text})
    assert answer.json()["type"].endswith("/unknown-host"), answer.text


def test_injected_iri_is_refused(api: httpx.Client) -> None:
    taking = {
        (name, param.name)
        for name, query in load_catalogue().items()
        for param in query.params.values()
        if param.type == "iri"
    }
    for query, param in taking:
        for text in ("a:b> } #", "no iri", "a:b\n", 'a:"', "a:{}"):
            answer = api.get(f"/queries/{query}", params={param: text})
            assert answer.status_code == 400, (query, text)
            assert answer.json()["parameter"] == param


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("cache/sharring", "cache/sharing"),
        ("cahce/groups", "cache/groups"),
        ("qqqq/zzzz", "/queries"),
    ],
)
def test_unknown_query_suggests_similar_ones(
    api: httpx.Client, path: str, near: str
) -> None:
    answer = api.get(f"/queries/{path}")
    assert answer.status_code == 404
    assert near in answer.json()["detail"]


def test_invalid_utf_8_is_refused(api: httpx.Client) -> None:
    assert api.get(f"{SHARING}?host=%ff").status_code == 400


def test_search_for_runs_of_an_unknown_host_is_refused(api: httpx.Client) -> None:
    answer = api.get("/observations", params={"host": "n77"})
    assert answer.status_code == 404
    assert answer.json()["type"].endswith("/unknown-host")
