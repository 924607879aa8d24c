"""The ontology in a browser: from a component to the definition of its class."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, expect

from supertwin.cli.main import main
from tests.browser import watched_page
from tests.web.conftest import Open
from tests.web.site import BIG


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_component_links_to_its_class(visit: Open, scheme: str) -> None:
    page = visit(f"/twin/{BIG}/thread/97", scheme).page
    page.locator("a.class").click()
    page.wait_for_url("**/ontology#HardwareThread")
    section = page.locator("#HardwareThread")
    expect(section).to_be_in_viewport()
    expect(section).to_contain_text("called a CPU by Linux and a PU by hwloc")
    section.get_by_role("link", name="usesCache").click()
    expect(page.locator("#usesCache")).to_be_in_viewport()
    page.locator("#usesCache").get_by_role("link", name="cache/sharing").click()
    expect(page.locator("h1")).to_be_visible()
    assert page.url.endswith("/queries/cache/sharing")


def test_navigation_links_to_the_ontology_without_overflow(visit: Open) -> None:
    page = visit("/queries").page
    page.get_by_role("navigation").get_by_role("link", name="Ontology").click()
    expect(page.locator("h1")).to_have_text("The SuperTwin ontology")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 1280
    page.locator(".index summary", has_text="Caches and NUMA").click()
    page.locator(".index").get_by_role("link", name="cacheLevel").click()
    expect(page.locator("#cacheLevel")).to_be_in_viewport()


def test_exported_page_needs_no_server(browser: Browser, tmp_path: Path) -> None:
    written = CliRunner().invoke(main, ["export", "ontology", "--out", str(tmp_path)])
    assert written.exit_code == 0, written.output
    with watched_page(browser, "file://") as watched:
        watched.page.goto(f"file://{tmp_path}/index.html#Cache")
        expect(watched.page.locator("#Cache")).to_be_in_viewport()
        links = watched.page.locator("a[href]").evaluate_all(
            "all => all.map(one => one.getAttribute('href'))"
        )
        watched.check()
    local = [link for link in links if not re.match(r"https?:|#", link)]
    assert "supertwin.ttl" in local and "modules/core.ttl" in local
    assert not [link for link in local if not (tmp_path / link).is_file()]
