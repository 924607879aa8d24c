"""Swagger UI in a browser: it shows our document and asks no other site."""

from playwright.sync_api import expect

from tests.web.conftest import Open


def test_operations_are_listed_and_run(visit: Open) -> None:
    page = visit("/api/docs").page
    expect(page.locator(".opblock-tag").first).to_be_visible()
    page.locator(".opblock-tag[data-tag='Saved queries: cache']").click()
    operation = page.locator(".opblock").filter(has_text="/queries/cache/groups")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table")).to_contain_text("bindings")


def test_interface_page_links_to_it(visit: Open) -> None:
    page = visit("/api").page
    page.get_by_role("link", name="Swagger UI").click()
    expect(page.locator(".info .title")).to_contain_text("SuperTwin")
