"""The SPARQL editor in a browser: it runs, completes, loads, and asks no other site."""

import csv
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, expect

from tests.web.conftest import Open
from tests.web.site import BIG, HOSTILE, QUIET, Site
from tests.web.test_queries import forgive_the_status

PREFIX = "PREFIX st: <https://w3id.org/supertwin/ns#>\n"
HOSTS = (
    PREFIX
    + "SELECT ?name WHERE { ?h a st:ComputeNode ; st:hostname ?name } ORDER BY ?name"
)


def open_with(visit: Open, query: str, scheme: str = "light") -> Page:
    page = visit(f"/editor?query={quote(query)}", scheme).page
    expect(page.locator(".yasqe .CodeMirror-code")).to_contain_text(query[-20:])
    return page


def run(page: Page) -> None:
    page.locator(".yasqe .CodeMirror-code").click()
    page.keyboard.press("Control+Enter")


def test_example_query_runs(visit: Open) -> None:
    page = visit("/editor").page
    code = page.locator(".yasqe .CodeMirror-code")
    for prefix in ("st", "qudt", "prov", "rdfs", "sosa"):
        expect(code).to_contain_text(f"PREFIX {prefix}:")
    assert page.locator(".yasr table").count() == 0
    run(page)
    expect(page.locator(".yasr table tbody tr").first).to_contain_text(BIG)
    expect(page.locator(".yasr")).to_contain_text("100 results")


def test_query_in_the_url_is_shown_but_not_run(visit: Open) -> None:
    page = open_with(visit, HOSTS)
    page.wait_for_timeout(500)
    assert page.locator(".yasr table").count() == 0
    run(page)
    rows = page.locator(".yasr table tbody tr")
    expect(rows).to_have_text([BIG, QUIET])


def test_rows_are_offered_as_csv_and_raw(visit: Open) -> None:
    page = open_with(visit, HOSTS)
    run(page)
    expect(page.locator(".yasr table tbody tr")).to_have_count(2)
    with page.expect_download() as download:
        page.locator(".yasr_downloadIcon").click()
    assert download.value.suggested_filename == "supertwin.csv"
    text = Path(download.value.path()).read_text()
    assert list(csv.reader(text.splitlines())) == [["name"], [BIG], [QUIET]]
    page.get_by_role("button", name="Response").click()
    expect(page.locator(".yasr_results")).to_contain_text('"bindings"')


def test_triples_are_shown_as_a_table(visit: Open) -> None:
    page = open_with(
        visit,
        PREFIX + "CONSTRUCT { ?h a st:ComputeNode } WHERE { ?h a st:ComputeNode }",
    )
    run(page)
    rows = page.locator(".yasr table tbody tr")
    expect(rows.filter(has_text=f"twin:{QUIET}")).to_contain_text("st:ComputeNode")


def test_iris_link_to_their_pages(visit: Open) -> None:
    page = open_with(visit, PREFIX + f'SELECT ?h WHERE {{ ?h st:hostname "{QUIET}" }}')
    run(page)
    link = page.locator(".yasr table a.iri")
    expect(link).to_have_text(f"twin:{QUIET}")
    with page.context.expect_page() as opened:
        link.click()
    expect(opened.value.locator("h1")).to_have_text(QUIET)


def test_errors_are_shown_as_text(visit: Open) -> None:
    watched = visit(
        "/editor?query=" + quote("SELECT * WHERE { SERVICE <http://x/> { ?s ?p ?o } }")
    )
    page = watched.page
    expect(page.locator(".yasqe .CodeMirror-code")).to_contain_text("SERVICE")
    run(page)
    problem = page.locator(".problem")
    expect(problem.locator("strong")).to_have_text("A query asks another endpoint")
    expect(problem.locator("p")).to_contain_text("no other endpoint is queried")
    page.wait_for_timeout(200)
    forgive_the_status(watched)


def test_saved_queries_are_loaded(visit: Open) -> None:
    page = visit("/editor").page
    expect(page.locator(".yasqe .CodeMirror-code")).to_contain_text("PREFIX")
    page.get_by_label("Search the saved queries").fill("inventory/hosts")
    links = page.locator(".saved li:not([hidden]) a")
    expect(links.first).to_be_visible()
    assert links.count() < 10
    page.locator(".saved a[data-name='inventory/hosts']").click()
    code = page.locator(".yasqe .CodeMirror-code")
    expect(code).to_contain_text("# inventory/hosts")
    run(page)
    expect(page.locator(".yasr table tbody tr").first).to_contain_text(BIG)


def test_ontology_terms_are_completed(visit: Open) -> None:
    page = visit("/editor").page
    code = page.locator(".yasqe .CodeMirror-code")
    code.click()
    page.keyboard.press("Control+A")
    page.keyboard.type(PREFIX + "SELECT * WHERE { ?s a st:Hard")
    page.keyboard.press("Control+Space")
    hints = page.locator(".CodeMirror-hint")
    expect(hints).to_have_text(["st:HardwareThread"])
    page.keyboard.press("Enter")
    expect(code).to_contain_text("st:HardwareThread")
    page.keyboard.type(" ; st:cacheS")
    page.keyboard.press("Control+Space")
    expect(hints).to_have_text(["st:cacheSets", "st:cacheSize"])


def test_keyboard_can_leave_the_field(visit: Open) -> None:
    page = visit("/editor").page
    page.locator(".yasqe .CodeMirror-code").click()
    inside = "document.activeElement.closest('.CodeMirror') !== null"
    assert page.evaluate(inside)
    page.keyboard.press("Tab")
    assert page.evaluate(inside)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "run"
    expect(page.locator(".keys")).to_contain_text("Esc leaves the field")


def test_link_contains_the_query(visit: Open, site: Site) -> None:
    page = open_with(visit, HOSTS)
    page.locator(".yasqe .CodeMirror-code").click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" LIMIT 1")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#state")).to_contain_text("link is")
    page.reload()
    expect(page.locator(".yasqe .CodeMirror-code")).to_contain_text("LIMIT 1")


def test_hostile_values_are_text(visit: Open) -> None:
    query = PREFIX + "SELECT ?m WHERE { ?d st:model ?m FILTER(CONTAINS(?m, 'hacked')) }"
    watched = visit(f"/editor?query={quote(query)}", "dark")
    page = watched.page
    expect(page.locator(".yasqe .CodeMirror-code")).to_contain_text("hacked")
    run(page)
    expect(page.locator(".yasr table tbody tr").first).to_contain_text(HOSTILE)
    page.get_by_role("button", name="Response").click()
    expect(page.locator(".yasr_results")).to_contain_text("onerror")
    assert page.locator(".yasr img").count() == 0
    assert page.evaluate("window.hacked") is None
    # The library sanitises values in a document without scripts. The policy applies
    # there, too, and the browser reports it.
    assert all("Content Security Policy" in line for line in watched.errors)
    watched.errors.clear()


def test_text_in_the_url_stays_text(visit: Open) -> None:
    text = "# </script><script>window.hacked=1</script><img src=x onerror=hacked=1>"
    page = open_with(visit, text)
    assert page.evaluate("window.hacked") is None


def test_terms_are_served(site: Site) -> None:
    found = site.get("/editor/terms").json()
    assert "https://w3id.org/supertwin/ns#HardwareThread" in found["classes"]
    assert "https://w3id.org/supertwin/ns#usesCache" in found["properties"]
    assert found["prefixes"]["st"] == "https://w3id.org/supertwin/ns#"
