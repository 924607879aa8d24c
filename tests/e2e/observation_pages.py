"""Helpers for the tests of the observation pages."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.servers import wait_until
from tests.stack import Stack

# Opens a path of the stack, logged in if a token is given.
Open = Callable[..., Page]

# How long the commands of two groups of runs sleep: far apart, for a busy machine.
SECONDS = {"short": "0.1", "long": "2"}


def log_in(page: Page, stack: Stack, operator_token: str) -> None:
    page.goto(f"{stack.api}/login?next=/observations")
    page.get_by_label("Token").fill(operator_token)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


def assert_fits(page: Page, width: int) -> None:
    """Wait until charts are redrawn and nothing is wider than the window.

    `wait_for_function` would evaluate text in the page, which its policy forbids.
    """
    script = "document.documentElement.scrollWidth"
    wait_until(lambda: page.evaluate(script) <= width, what=f"a page of {width} px")


def assert_drawn(page: Page, metric: str) -> None:
    """Check that the chart has values: the store has samples from the run."""
    panel = page.locator("section.panel", has_text=metric).first
    panel.scroll_into_view_if_needed()
    expect(panel.locator("canvas").first).to_be_visible()
    expect(panel.locator(".legend-value").first).to_have_text(re.compile(r"\d"))
    expect(panel.locator(".panel-message")).to_be_hidden()
