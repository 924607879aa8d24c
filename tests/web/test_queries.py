"""Saved queries as pages: the list, the form, the rows, and invalid input."""

import csv
import json
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, expect
from rdflib import Graph, Literal, URIRef

from queries.catalogue import load_catalogue
from tests.browser import Watched
from tests.web.conftest import Open
from tests.web.site import BIG, HOSTILE, QUIET, Site

GROUPS = f"/queries/cache/groups?host={BIG}&level=3"


def forgive_the_status(watched: Watched) -> None:
    """Clear the log: the browser logs even unsuccessful answers that are intended."""
    assert all("the server responded with" in line for line in watched.errors)
    watched.errors.clear()


def test_list_is_grouped_and_searched(visit: Open) -> None:
    page = visit("/queries").page
    queries = page.locator(".query")
    assert queries.count() == len(load_catalogue())
    assert page.locator(".folder").count() == len(
        {name.partition("/")[0] for name in load_catalogue()}
    )
    page.get_by_role("searchbox").fill("share cache thread")
    visible = page.locator(".query:not([hidden])")
    assert 1 <= visible.count() < queries.count() / 3
    expect(page.locator("#found")).to_have_text(
        f"{visible.count()} of {queries.count()}"
    )
    visible.get_by_text("cache/sharing").click()
    page.wait_for_url("**/queries/cache/sharing")


def test_every_parameter_has_a_suitable_input(visit: Open) -> None:
    page = visit("/queries/cache/sharing").page
    hosts = page.get_by_label("host", exact=True).locator("option")
    assert hosts.all_text_contents() == ["any", BIG, QUIET]
    assert page.get_by_label("cpu").get_attribute("type") == "number"
    assert page.get_by_label("cpu").get_attribute("placeholder") == "0"
    types = page.get_by_label("type").locator("option").all_text_contents()
    assert types == ["data (default)", "instruction"]
    page.goto(page.url.replace("cache/sharing", "topology/threads"))
    choices = page.get_by_label("all", exact=True).locator("option")
    assert choices.all_text_contents() == ["false (default)", "true"]
    page.goto(page.url.replace("topology/threads", f"telemetry/metrics?host={QUIET}"))
    suggested = page.locator("#list-component option")
    values = suggested.evaluate_all("all => all.map(one => one.value)")
    assert any(value.endswith(f"/twin/{QUIET}/core/core-0") for value in values)


def test_form_runs_and_its_rows_are_sorted(visit: Open) -> None:
    page = visit("/queries/cache/sharing").page
    page.get_by_label("host", exact=True).select_option(BIG)
    page.get_by_label("cpu").fill("97")
    page.get_by_label("level").fill("3")
    page.get_by_role("button", name="Run").click()
    page.wait_for_url("**cpu=97**")
    assert page.get_by_label("cpu").input_value() == "97"
    expect(page.locator("p[role=status]")).to_have_text("7 rows.")
    cells = page.locator("#rows tbody td:nth-child(3)")
    assert cells.all_text_contents() == ["32", "33", "34", "35", "96", "98", "99"]
    header = page.get_by_role("button", name="cpu")
    header.click()
    header.click()
    assert cells.first.text_content() == "99" and cells.last.text_content() == "32"
    column = page.get_by_role("columnheader", name="cpu")
    expect(column).to_have_attribute("aria-sort", "descending")
    page.locator("#rows").get_by_role("link").first.click()
    page.wait_for_url(f"**/twin/{BIG}/thread/99")


def test_rows_are_offered_as_csv_json_and_json_ld(visit: Open, site: Site) -> None:
    page = visit(GROUPS).page
    count = page.locator("#rows tbody tr").count()
    assert count == 16
    hrefs = {
        name: page.get_by_role("link", name=name, exact=True).get_attribute("href")
        for name in ("CSV", "JSON", "JSON-LD")
    }
    table = site.get(hrefs["CSV"] or "", "text/html")
    assert table.headers["content-type"].startswith("text/csv")
    assert "cache-groups.csv" in table.headers["content-disposition"]
    rows = list(csv.DictReader(table.text.splitlines()))
    assert len(rows) == count and rows[0]["level"] == "3"
    found = site.get(hrefs["JSON"] or "", "text/html").json()
    assert len(found["results"]["bindings"]) == count
    linked = site.get(hrefs["JSON-LD"] or "", "text/html")
    assert linked.headers["content-type"] == "application/ld+json"
    assert [row["cache"]["@id"] for row in linked.json()["@graph"]] == [
        row["cache"] for row in rows
    ]


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")
def test_json_ld_rows_have_the_same_values(site: Site) -> None:
    answer = site.get(GROUPS, "application/ld+json")
    graph = Graph().parse(data=answer.text, format="json-ld")
    columns = f"{site.url}/queries/cache/groups#"
    sizes = set(graph.objects(None, URIRef(f"{columns}size")))
    levels = set(graph.objects(None, URIRef(f"{columns}level")))
    assert levels == {Literal(3)}
    assert {type(size.toPython()) for size in sizes if isinstance(size, Literal)} == {
        int
    }
    for cache in graph.objects(None, URIRef(f"{columns}cache")):
        assert isinstance(cache, URIRef) and "/cache/l3-" in cache
    every = site.get(f"/queries/topology/threads.jsonld?host={BIG}").json()["@graph"]
    assert all(row["allowed"] is True for row in every) and len(every) == 128


@pytest.mark.parametrize(
    ("ending", "status"), [("ttl", 406), ("nt", 404), ("csv", 200), ("rq", 200)]
)
def test_file_extensions_select_the_format(
    site: Site, ending: str, status: int
) -> None:
    assert site.get(f"/queries/cache/groups.{ending}").status_code == status


def test_invalid_value_is_reported_next_to_its_field(visit: Open) -> None:
    watched = visit("/queries/cache/sharing?host=big&cpu=abc&level=2.5")
    page = watched.page
    for name, given in (("cpu", "abc"), ("level", "2.5")):
        field = page.locator(".field", has=page.locator(f"[name={name}]"))
        expect(field.locator(".error")).to_contain_text("expected a whole number")
        expect(field.locator(".error")).to_contain_text(given)
        expect(page.get_by_label(name)).to_have_attribute("aria-invalid", "true")
        assert page.get_by_label(name).input_value() == given
    assert page.locator("#rows").count() == 0
    assert page.get_by_role("link", name="CSV").count() == 0
    forgive_the_status(watched)
    page.get_by_label("cpu").fill("0")
    page.get_by_label("level").fill("2")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#rows")).to_be_visible()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("colour=red", "has no parameter 'colour'"),
        ("host=a&host=b", "given more than once"),
        ("type=both", "expected one of data, instruction"),
    ],
)
def test_invalid_url_parameter_is_reported(
    site: Site, query: str, message: str
) -> None:
    answer = site.get(f"/queries/cache/sharing?{query}", "text/html")
    assert answer.status_code == 400
    assert message in answer.text.replace("&#39;", "'")


def test_hostile_values_are_text(visit: Open) -> None:
    watched = visit(f"/queries/inventory/disks?host={QUIET}")
    page = watched.page
    expect(page.locator("#rows")).to_contain_text(HOSTILE)
    page.goto(
        page.url.split("?")[0] + "?host=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E"
    )
    chosen = page.get_by_label("host", exact=True)
    assert chosen.input_value() == '"><img src=x onerror=alert(1)>'
    expect(page.locator(".banner.bad")).to_contain_text("no host")
    assert page.evaluate("window.hacked") is None
    forgive_the_status(watched)


@pytest.mark.parametrize("host", ["..", "a/b", "é", "x" * 5000, "\x01"])
def test_impossible_host_name_is_unknown(site: Site, host: str) -> None:
    query = urlencode({"host": host})
    answer = site.get(f"/queries/telemetry/metrics?{query}", "text/html")
    assert answer.status_code == 404 and "no host" in answer.text


def test_query_opens_in_the_editor(visit: Open) -> None:
    page = visit(GROUPS).page
    link = page.get_by_role("link", name="Open in the editor")
    href = link.get_attribute("href") or ""
    text = parse_qs(urlsplit(href).query)["query"][0]
    assert f'("{BIG}" 3)' in text and "#+" not in text
    link.click()
    page.wait_for_url("**/editor?**")
    expect(page.locator(".yasqe .CodeMirror-code")).to_contain_text("GROUP_CONCAT")


def test_form_works_without_javascript(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{site.url}/queries/cache/groups")
        page.locator("[name=host]").select_option(QUIET)
        page.get_by_role("button", name="Run").click()
        expect(page.locator("#rows tbody tr").first).to_contain_text(QUIET)
    finally:
        context.close()


def test_unreachable_graph_store_is_reported_above_the_form(
    visit: Open, site: Site
) -> None:
    watched = visit(GROUPS)
    site.fuseki.end()
    try:
        answer = httpx.get(
            site.url + GROUPS, headers={"Accept": "text/html"}, timeout=120
        )
        assert answer.status_code == 503
        watched.page.reload()
        expect(watched.page.locator(".banner.bad")).to_contain_text("Fuseki")
        assert watched.page.get_by_label("level").input_value() == "3"
        forgive_the_status(watched)
    finally:
        site.fuseki.start()
    watched.page.reload()
    expect(watched.page.locator("#rows")).to_be_visible()


def test_list_has_every_query(site: Site) -> None:
    listed = json.loads(site.get("/queries").text)
    assert {query["name"] for query in listed} == load_catalogue().keys()


def test_empty_result_shows_a_hint(visit: Open) -> None:
    page = visit(f"/queries/cache/sharing?host={BIG}&cpu=99999").page
    expect(page.locator("p[role=status]")).to_have_text("0 rows.")
    expect(page.locator("#none")).to_contain_text("Leave a field")
