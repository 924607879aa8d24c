"""Debian's Chromium, driven by Playwright, with its own requests switched off.

The headless shell draws and runs pages like the full browser, for a sixth of its CPU.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.network import still_network

# Debian's name, and the names of Chrome, which is used where Chromium is a snap.
_NAMES = ("chromium-headless-shell", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZE = {"width": 1280, "height": 800}
# A busy machine is not a defect; Playwright's own limit is 5 s.
LIMIT_MS = 120_000
expect.set_options(timeout=LIMIT_MS)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser and close it at the end; skip the test if none is installed."""
    if CHROMIUM is None:
        pytest.skip("no browser: install Google Chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """A page, with its errors and its requests to other origins."""

    page: Page
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Fail if the page logged an error or sent a request to another origin."""
        assert not self.errors, self.errors
        assert not self.outside, self.outside


@contextmanager
def watched_page(
    browser: Browser, origin: str, scheme: str = "light", **options: Any
) -> Iterator[Watched]:
    """Open a page of 1280 x 800 that records console errors and outside requests.

    ``options`` are further options of Playwright's ``new_context``.
    """
    with still_network():
        yield from _watched(browser, origin, color_scheme=scheme, **options)


def _watched(browser: Browser, origin: str, **options: Any) -> Iterator[Watched]:
    context = browser.new_context(**{"viewport": SIZE, **options})
    context.set_default_timeout(LIMIT_MS)
    watched = Watched(context.new_page())
    page = watched.page
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on(
        "console",
        lambda message: message.type == "error" and watched.errors.append(message.text),
    )
    page.on("request", lambda request: _note(watched, request.url, origin))
    try:
        yield watched
    finally:
        context.close()


def _note(watched: Watched, url: str, origin: str) -> None:
    parts = urlsplit(url)
    own = f"{parts.scheme}://{parts.netloc}" == origin
    if parts.scheme in ("http", "https", "ws", "wss") and not own:
        watched.outside.append(url)
