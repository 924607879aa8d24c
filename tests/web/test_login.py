"""Logging in and out in a browser, where reading needs a token."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from api.access.tokens import TokenRole
from tests.api.servers import Api, Closed
from tests.browser import watched_page
from tests.web.site import BIG, Site


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Closed]:
    """Start a second API with the same stores, which only token holders may read."""
    home: Path = tmp_path_factory.mktemp("closed")
    with (
        Api(
            home / "api",
            host=BIG,
            base=site.url,
            home=str(home),
            read_access="token",
            fuseki_url=site.fuseki.url,
            store_read_url=site.store.url,
        ) as server,
        httpx.Client(timeout=120, trust_env=False) as client,
    ):
        yield Closed(server.url, home, client)


def test_dashboard_by_token_and_logout(browser: Browser, closed: Closed) -> None:
    token = closed.add("person", TokenRole.READER)
    with watched_page(browser, closed.url) as watched:
        page = watched.page
        page.goto(f"{closed.url}/dashboards/monitor?host={BIG}")
        expect(page.locator("h1")).to_have_text("Log in")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"**/dashboards/monitor?host={BIG}")
        # The stream delivers live points with the cookie only.
        state = page.locator("[data-control=state]")
        expect(state).to_have_text(re.compile("^Live"))
        assert "supertwin_" not in page.evaluate("document.cookie")
        page.goto(f"{closed.url}/editor")
        page.get_by_role("button", name="Run").click()
        rows = page.locator(".yasr table tbody tr")
        expect(rows.first).to_contain_text(BIG)
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/login")
        page.goto(f"{closed.url}/queries")
        expect(page.locator("h1")).to_have_text("Log in")
        watched.check()


def test_wrong_token_is_reported(browser: Browser, closed: Closed) -> None:
    with watched_page(browser, closed.url) as watched:
        page = watched.page
        page.goto(f"{closed.url}/login?next=/queries")
        page.get_by_label("Token").fill("supertwin_")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("supertwin token add")
        page.get_by_label("Token").fill(closed.add("again", TokenRole.READER))
        page.keyboard.press("Enter")
        page.wait_for_url("**/queries")
