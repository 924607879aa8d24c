"""One browser, and one site with its stores, for all tests of the pages."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser

from tests.api.servers import Api
from tests.browser import Watched, chromium, watched_page
from tests.servers import Fuseki, VictoriaMetrics
from tests.web.site import BIG, Site

Open = Callable[..., Watched]


# Per module, not per session: Playwright's event loop would keep running, and later
# tests in the same process could not run their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def site(
    shared_fuseki: Fuseki, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    # The tests of this folder do not empty it.
    shared_fuseki.empty()
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as stack:
        store = stack.enter_context(VictoriaMetrics(tmp_path_factory.mktemp("store")))
        api = Api(
            tmp_path_factory.mktemp("api"),
            host=BIG,
            home=str(home),
            fuseki_url=shared_fuseki.url,
            store_read_url=store.url,
        )
        api.env["SUPERTWIN_BASE"] = api.url
        stack.enter_context(api)
        found = Site(api, shared_fuseki, store)
        found.before = found.get("/", "text/html").text
        found.fill()
        yield found


@pytest.fixture
def visit(browser: Browser, site: Site) -> Iterator[Open]:
    """Open a path of the site; close and check the page when the test ends."""
    with ExitStack() as stack:
        opened: list[Watched] = []

        def go(path: str, scheme: str = "light") -> Watched:
            watched = stack.enter_context(watched_page(browser, site.url, scheme))
            opened.append(watched)
            watched.page.goto(site.url + path)
            return watched

        yield go
        for watched in opened:
            watched.check()
