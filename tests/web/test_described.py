"""A host that was described from a file, so that nothing samples it."""

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import expect

from tests.dashboards.synthetic import publish_document
from tests.dashboards.synthetic_facts import big_document, topology
from tests.web.conftest import Open
from tests.web.site import BIG, QUIET, Site

FILED = "filed"
WHY = "'filed' was described without asking PCP: probe it there"


@pytest.fixture(scope="module", autouse=True)
def filed(site: Site) -> Iterator[None]:
    document = big_document(FILED, topology("pack:1 l2:2 l1d:1 core:1 pu:2"))
    del document["facts"]["pcp"]
    publish_document(site.fuseki.url, site.url, document)
    yield
    for kind in ("twin", "plans"):
        update = f"DROP SILENT GRAPH <{site.url}/graph/{kind}/{FILED}>"
        url = f"{site.fuseki.url}/twin/update"
        httpx.post(url, data={"update": update}).raise_for_status()


@pytest.mark.parametrize("path", ["", "/thread/0", "/disk/nvme0n1"])
def test_components_explain_missing_series(visit: Open, path: str) -> None:
    page = visit(f"/twin/{FILED}{path}").page
    expect(page.locator("#telemetry")).to_be_visible()
    expect(page.locator("#silence")).to_have_text(f"Not sampled: {WHY}.")


def test_component_of_a_sampled_host_shows_no_note(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/core/core-0").page
    assert page.locator("#silence").count() == 0


def test_dashboard_explains_missing_series_once(visit: Open) -> None:
    page = visit(f"/dashboards/monitor?host={FILED}").page
    expect(page.locator("#banner")).to_have_text(f"Nothing to show: {WHY}.")
    assert page.locator(".board-section[open]").count() == 0
    page.locator(".board-section > summary").first.click()
    expect(page.locator(".panel-message").first).to_have_text(WHY)


def test_card_shows_never_sampled(visit: Open) -> None:
    page = visit("/").page
    card = page.locator(f"[data-host={FILED}] .sampled")
    expect(card).to_have_text("never sampled")
    quiet = page.locator(f"[data-host={QUIET}] .sampled")
    expect(quiet).to_have_text("no samples in the last hour")
    expect(card).to_have_text("never sampled")
