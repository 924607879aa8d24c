"""The component pages in a browser: navigation, facts, sharing and telemetry."""

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from ontology.terms import ST
from tests.browser import watched_page
from tests.web.conftest import Open
from tests.web.site import BIG, HOSTILE, QUIET, Site


def current(page: Page) -> str | None:
    """Return the component that the tree marks as current."""
    return page.locator("#tree [aria-current=page] > .row > a").text_content()


def test_thread_is_reached_from_the_host(visit: Open) -> None:
    page = visit(f"/twin/{BIG}").page
    expect(page.locator("h1")).to_have_text(BIG)
    expect(page.locator("#parts")).to_contain_text("2 sockets, 64 cores, 128 threads")
    page.locator(".chips").get_by_role("link", name="socket of threads 32").click()
    expect(page.locator(".class")).to_have_text("socket")
    page.locator(".chips").get_by_role("link", name="core of threads 33,97").click()
    expect(page.locator(".class")).to_have_text("core")
    page.locator(".chips").get_by_role("link", name="thread 97", exact=True).click()
    page.wait_for_url(f"**/twin/{BIG}/thread/97")
    crumbs = page.locator(".crumbs li")
    assert crumbs.count() == 3
    expect(crumbs.first).to_have_text(BIG)
    expect(crumbs.last).to_have_text("core of threads 33,97")
    expect(page.locator("#tree [aria-current=page] > .row")).to_be_visible()
    assert current(page) == "thread 97"
    crumbs.first.get_by_role("link").click()
    expect(page.locator("h1")).to_have_text(BIG)


def test_threads_sharing_each_cache_are_listed(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/thread/97").page
    row = page.locator(".sharing tr")
    expect(row.filter(has=page.get_by_text("L1d", exact=True))).to_contain_text(
        re.compile(r"thread\s+33$")
    )
    shared = row.filter(has=page.get_by_text("L3", exact=True)).locator("td a")
    assert shared.all_text_contents() == ["32", "33", "34", "35", "96", "98", "99"]
    expect(row.filter(has=page.get_by_text("NUMA domain 4"))).to_be_visible()
    shared.first.click()
    page.wait_for_url(f"**/twin/{BIG}/thread/32")
    page.goto(page.url.replace("/thread/32", "/cache/l3-32"))
    threads = page.locator(".sharing tr").first.locator("td a").all_text_contents()
    assert threads == ["32", "33", "34", "35", "96", "97", "98", "99"]


def test_facts_are_shown_readably(visit: Open, site: Site) -> None:
    page = visit(f"/twin/{BIG}/cache/l2-3").page
    size = page.locator(".facts tr", has_text="cache size").locator("td span")
    expect(size).to_have_text(re.compile(r"^\d+(\.\d+)? [KM]iB$"))
    raw = size.get_attribute("title")
    assert raw and re.fullmatch(r"\d+ B", raw)
    kind = page.locator(".facts tr", has_text="cache type").locator("td")
    expect(kind).to_have_text("unified cache")
    page.goto(f"{site.url}/twin/{BIG}")
    memory = page.locator(".facts tr", has_text="memory size")
    expect(memory).to_contain_text("512 GiB")


def test_series_show_live_value_age_and_chart(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/thread/97").page
    row = page.locator("#series tr", has_text="kernel.percpu.cpu.idle")
    expect(row.locator("[data-cell=value]")).to_have_text(re.compile(r"\d.* [kM]?s$"))
    expect(row.locator("[data-cell=age]")).to_have_text(re.compile(r"^\d s$"))
    expect(row.locator("[data-cell=now]")).to_have_text(re.compile(r"^[\d.]+ %$"))
    path = row.locator("svg.spark path").get_attribute("d")
    assert path and path.count("L") > 10
    expect(row.locator("svg.spark title")).to_have_text(re.compile("^rate, from "))
    before = row.locator("[data-cell=value]").get_attribute("title")
    page.evaluate("window.same = true")
    expect(row.locator("[data-cell=value]")).not_to_have_attribute(
        "title", before or ""
    )
    assert page.evaluate("window.same") is True
    row.get_by_role("link").click()
    page.wait_for_url("**/telemetry/kernel.percpu.cpu.idle/cpu97")
    expect(page.locator(".facts")).to_contain_text("selector")


def test_reason_of_missing_data_is_shown(visit: Open) -> None:
    page = visit(f"/twin/{QUIET}").page
    why = page.locator("#series .why").first
    expect(why).to_have_text(re.compile(r"^[a-zA-Z ]+: .+\.?$"))


@pytest.fixture
def unsampled(site: Site) -> Iterator[str]:
    """Add a metric of the disks that is in no plan."""
    name, graph = "disk.dev.never_sampled", f"{site.url}/graph/twin/{QUIET}"
    metric, known = f"{site.url}/metric/{name}", f"{site.url}/metric/disk.dev.read"
    triples = f"""
      <{site.url}/twin/{QUIET}> st:exposes <{metric}> .
      <{metric}> a st:Metric ; st:samplerName "{name}" ; st:dbName "never" ;
        st:valueType "u64" ; st:semantics st:Counter ; st:instanceDomain ?domain ."""
    where = f"<{known}> st:instanceDomain ?domain"
    for verb in ("INSERT", "DELETE"):
        update = (
            f"PREFIX st: <{ST}> {verb} {{ GRAPH <{graph}> {{ {triples} }} }} "
            f"WHERE {{ {where} }}"
        )
        url = f"{site.fuseki.url}/twin/update"
        httpx.post(url, data={"update": update}).raise_for_status()
        if verb == "INSERT":
            yield name


def test_series_that_no_plan_samples_are_listed(visit: Open, unsampled: str) -> None:
    page = visit(f"/twin/{QUIET}/disk/nvme0n1").page
    others = page.locator(".others")
    expect(others.locator("summary")).to_have_text("1 more series that no plan samples")
    others.locator("summary").click()
    link = others.get_by_role("link", name=unsampled)
    expect(link).to_have_attribute(
        "href", f"/twin/{QUIET}/telemetry/{unsampled}/nvme0n1"
    )
    assert unsampled not in page.locator("#series").inner_text()


def test_tree_is_used_by_arrow_keys(visit: Open) -> None:
    page = visit(f"/twin/{BIG}").page
    root = page.locator("#tree [role=tree] > [role=treeitem]")
    expect(root).to_have_attribute("aria-expanded", "true")
    assert page.locator("#tree [tabindex='0']").count() == 1
    page.locator("#tree [tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    socket = root.locator(":scope > ul > [role=treeitem]").first
    expect(socket).to_have_attribute("aria-expanded", "true")
    expect(socket.locator(":scope > ul > [role=treeitem]").first).to_be_visible()
    page.keyboard.press("ArrowRight")
    label = "document.activeElement.querySelector('a').textContent"
    assert page.evaluate(label).startswith("core of threads 0,")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(socket).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/twin/{BIG}/core/core-0")
    assert current(page) == "core of threads 0,64"


def test_hostile_names_are_text(visit: Open, site: Site) -> None:
    page = visit(f"/twin/{BIG}/thread/0").page
    expect(page.locator("h1")).to_have_text(HOSTILE)
    expect(page.locator("#tree [aria-current=page]")).to_contain_text("<script>")
    page.goto(f"{site.url}/twin/{BIG}/socket/socket-0")
    expect(page.locator("h1")).to_have_text(HOSTILE)
    disk = site.get(f"/twin/{QUIET}").json()
    iris = re.findall(r"/disk/[A-Za-z0-9_.~-]+", str(disk))
    page.goto(f"{site.url}/twin/{QUIET}{iris[0]}")
    expect(page.locator(".facts")).to_contain_text(HOSTILE)
    assert page.evaluate("window.hacked") is None


def test_other_formats_are_linked(visit: Open, site: Site) -> None:
    page = visit(f"/twin/{BIG}/thread/97").page
    for name, media_type in (("JSON-LD", "application/ld+json"), ("Turtle", "turtle")):
        link = page.get_by_role("link", name=name, exact=True)
        href = link.get_attribute("href")
        answer = site.get(f"/twin/{BIG}/thread/97{href}", "text/html")
        assert media_type in answer.headers["content-type"]
    refused = site.get(f"/twin/{BIG}?format=pdf")
    assert refused.status_code == 406 and "turtle" in refused.json()["detail"]


def test_missing_page_names_what_is_unknown(browser: Browser, site: Site) -> None:
    for path, message in (
        ("/twin/nope", "the twin says nothing about"),
        ("/dashboards/nope", "nope"),
        ("/dashboards/monitor?host=nope", "nope"),
    ):
        with watched_page(browser, site.url) as watched:
            answer = watched.page.goto(site.url + path)
            assert answer and answer.status == 404
            expect(watched.page.get_by_role("alert")).to_contain_text(message)
            # Chromium logs the page's status; there are no other errors.
            assert [error for error in watched.errors if "404" not in error] == []
            watched.page.get_by_role("link", name="dashboards", exact=True).click()
            watched.page.wait_for_url("**/dashboards")


def test_all_triples_are_available(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/thread/97").page
    triples = page.locator(".triples")
    expect(triples.get_by_text("st:usesCache").first).to_be_hidden()
    triples.locator("summary").first.click()
    for link in ("rdf:type", "st:isPartOf", "st:usesCache", "st:osIndex"):
        expect(triples.get_by_text(link, exact=True).first).to_be_visible()


def test_node_outside_the_hierarchy_shows_its_facts(visit: Open) -> None:
    page = visit("/metric/kernel.percpu.cpu.idle").page
    expect(page.locator(".facts")).to_contain_text("counter")
    assert page.locator("#tree").count() == 0


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("parts?iri=x", 422, "iri: "),
        ("parts?iri=http://other.example/twin/a", 404, "is not a component"),
        ("telemetry?iri=", 422, "iri: "),
        (f"parts?iri={{url}}/twin/{BIG}/thread/%3E%20x", 422, "iri: "),
        ("telemetry?iri={url}/twin/./thread/0", 404, "is not a component"),
        ("parts", 422, "iri"),
    ],
)
def test_invalid_component_is_refused(
    site: Site, path: str, status: int, message: str
) -> None:
    answer = site.get(f"/explorer/{path.replace('{url}', site.url)}")
    assert answer.status_code == status
    assert message in answer.json()["detail"]


def test_unknown_host_lists_the_known_ones(site: Site) -> None:
    for kind in ("parts", "telemetry"):
        answer = site.get(f"/explorer/{kind}?iri={site.url}/twin/nobody")
        assert answer.status_code == 404
        assert BIG in answer.json()["detail"]
    empty = site.get(f"/explorer/parts?iri={site.url}/twin/{BIG}/thread/97")
    assert empty.json() == {"parts": []}


def test_unreachable_store_is_shown_until_it_returns(visit: Open, site: Site) -> None:
    page = visit(f"/twin/{BIG}/thread/97").page
    value = page.locator("#series [data-cell=value]").first
    expect(value).to_have_text(re.compile(r"\d"))
    site.store.end()
    try:
        problem = page.locator("#telemetry-problem")
        expect(problem).to_contain_text("VictoriaMetrics does not answer")
    finally:
        site.store.start()
    expect(problem).to_be_hidden()
