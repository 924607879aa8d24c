"""The home page in a browser."""

import re
import signal

import httpx
from playwright.sync_api import expect

from tests.web.conftest import Open
from tests.web.site import BIG, QUIET, Site

# The longest time until the page shows a stopped service in red.
_SOON_MS = 150_000


def test_empty_page_explains_how_to_add_a_host(site: Site) -> None:
    assert "No host yet" in site.before and "supertwin ingest" in site.before
    assert "data-host" not in site.before


def test_hosts_are_shown_with_their_hardware(visit: Open) -> None:
    page = visit("/").page
    card = page.locator(f"[data-host={BIG}]")
    expect(card).to_contain_text("2 sockets · 64 cores · 128 threads · 512 GiB")
    expect(card).to_contain_text("Debian GNU/Linux 12 (bookworm) · 6.1.0-32-amd64")
    expect(card).to_contain_text("Made-up CPU of 64 threads")
    expect(card).to_contain_text(re.compile(r"Probed \d{4}-\d\d-\d\d \d\d:\d\d"))
    expect(card).to_contain_text("All 6 sources could be read")


def test_load_of_each_host_is_shown(visit: Open) -> None:
    page = visit("/").page
    busy = page.locator(f"[data-host={BIG}] .share")
    expect(busy).to_have_text(re.compile(r"^\d+ %$"))
    sampled = page.locator(f"[data-host={BIG}] .sampled")
    expect(sampled).to_have_text(re.compile(r"^last sample \d+ s ago$"))
    quiet = page.locator(f"[data-host={QUIET}]")
    expect(quiet.locator(".sampled")).to_have_text("no samples in the last hour")
    expect(quiet.locator(".share")).to_have_text("–")


def test_every_link_works(visit: Open, site: Site) -> None:
    page = visit("/").page
    hrefs = page.eval_on_selector_all(
        "main a[href], nav a[href]", "all => all.map(a => a.href)"
    )
    assert f"{site.url}/dashboards/monitor?host={BIG}" in hrefs
    headers = {"Accept": "text/html,*/*;q=0.5"}
    for href in sorted(set(hrefs) - {f"{site.url}/health"}):
        answer = httpx.get(href, headers=headers, timeout=120, follow_redirects=True)
        assert answer.status_code == 200, href


def test_table_of_hosts_is_sorted_and_searched(visit: Open) -> None:
    page = visit("/").page
    page.get_by_role("link", name="Table").click()
    names = page.locator("tr[data-host]:visible th")
    expect(names).to_have_text([BIG, QUIET])
    busy = page.locator(f"[data-host={BIG}] .share")
    expect(busy).to_have_text(re.compile(r"^\d+ %$"))
    page.get_by_role("button", name="Threads").click()
    expect(names).to_have_text([QUIET, BIG])
    page.get_by_role("button", name="Busy").click()
    expect(names).to_have_text([BIG, QUIET])
    page.get_by_label("Find a host").fill("128 threads")
    expect(names).to_have_text([BIG])


def test_dashboard_opens_for_the_chosen_host(visit: Open) -> None:
    page = visit("/dashboards").page
    picker = page.get_by_label("Host", exact=True)
    expect(picker).to_have_value(BIG)
    picker.select_option(QUIET)
    page.get_by_role("button", name="Inventory").click()
    page.wait_for_url(f"**/dashboards/inventory?host={QUIET}")


def test_running_and_failed_services_are_shown(visit: Open) -> None:
    page = visit("/").page
    graph = page.locator("[data-service=fuseki]")
    expect(graph.locator(".state.good")).to_be_visible()
    expect(graph).to_contain_text(re.compile(r"answers in [\d.]+ ms"))
    # Nothing samples here: the test wrote the host's series.
    bridge = page.locator("[data-service=bridge]")
    expect(bridge.locator(".state.bad")).to_be_visible()
    expect(bridge).to_contain_text("it never wrote its status")


def test_dead_store_is_named_until_it_returns(visit: Open, site: Site) -> None:
    page = visit("/").page
    store = page.locator("[data-service=store]")
    expect(store.locator(".state.good")).to_be_visible()
    site.store.end(signal.SIGTERM)
    try:
        expect(store.locator(".state.bad")).to_be_visible(timeout=_SOON_MS)
        expect(store).to_contain_text("VictoriaMetrics does not answer")
        expect(store.locator("code")).to_have_text("make status")
        sampled = page.locator(f"[data-host={BIG}] .sampled")
        expect(sampled).to_contain_text(
            "series unknown: VictoriaMetrics does not answer"
        )
    finally:
        site.store.start()
    expect(store.locator(".state.good")).to_be_visible(timeout=_SOON_MS)
    busy = page.locator(f"[data-host={BIG}] .share")
    expect(busy).to_have_text(re.compile(r"^\d+ %$"), timeout=_SOON_MS)


def test_hosts_return_with_the_graph_store(visit: Open, site: Site) -> None:
    site.fuseki.end(signal.SIGTERM)
    try:
        page = visit("/").page
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("The graph of the twin cannot be read")
        expect(alert.locator("code")).to_have_text("make status")
        dead = page.locator("[data-service=fuseki] .state.bad")
        expect(dead).to_be_visible(timeout=_SOON_MS)
    finally:
        site.fuseki.start()
    expect(page.locator(f"[data-host={BIG}]")).to_be_visible(timeout=_SOON_MS)
    expect(alert).to_have_count(0)


def test_hosts_are_found_by_words(visit: Open) -> None:
    page = visit("/").page
    cards = page.locator("[data-host]:visible")
    expect(cards).to_have_count(2)
    page.get_by_label("Find a host").fill(f"{BIG[:2]} 128 threads")
    expect(cards).to_have_count(1)
    expect(page.locator("#found-hosts")).to_have_text("1 of 2 hosts")
    page.get_by_label("Find a host").fill("")
    expect(cards).to_have_count(2)
