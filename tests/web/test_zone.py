"""All times of a page are in one zone, which the reader chooses and the page names."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import watched_page
from tests.servers import wait_until
from tests.web.site import BIG, Site
from tests.web.test_dashboard import FIRST, MAP, state, wait_for_points

Away = Callable[..., Page]

# Not at whole hours from UTC, and not the zone of a test machine.
ZONE = "Australia/Adelaide"
DAY = "from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z"
TABLE = "/queries/inventory/probes"


@pytest.fixture
def away(browser: Browser, site: Site) -> Iterator[Away]:
    """Open a path of the site in Adelaide."""
    with ExitStack() as stack:

        def go(path: str, **options: object) -> Page:
            found = watched_page(browser, site.url, timezone_id=ZONE, **options)
            watched = stack.enter_context(found)
            stack.callback(watched.check)
            watched.page.goto(site.url + path)
            return watched.page

        yield go


def choose(page: Page, zone: str) -> None:
    page.get_by_role("group", name="Time zone").get_by_text(zone, exact=True).click()


def in_zone(instant: str, zone: str) -> str:
    at = datetime.fromisoformat(instant).astimezone(ZoneInfo(zone))
    return f"{at:%Y-%m-%d %H:%M:%S}"


def assert_times(page: Page, zone: str) -> None:
    """Check that every time of a page is in this zone and that the page names it."""
    expect(page.locator("#zone")).to_have_text(zone)
    times = page.locator("time[datetime]")
    expect(times.first).to_be_attached()
    for each in times.all():
        instant = each.get_attribute("datetime") or ""
        expect(each).to_have_text(in_zone(instant, zone))
        assert (each.get_attribute("title") or "").endswith(f" {zone}")
    assert page.locator("main").inner_text().count("UTC") == 0


@pytest.mark.parametrize("path", ["/", "/?view=table", f"/history/{BIG}", TABLE])
def test_all_times_follow_the_switch(away: Away, path: str) -> None:
    page = away(path)
    assert_times(page, ZONE)
    choose(page, "UTC")
    assert_times(page, "UTC")
    choose(page, "Local")
    assert_times(page, ZONE)


def test_chosen_zone_is_kept_on_all_pages(away: Away, site: Site) -> None:
    page = away("/")
    choose(page, "UTC")
    page.reload()
    assert_times(page, "UTC")
    page.goto(f"{site.url}/history/{BIG}")
    assert_times(page, "UTC")
    link = page.locator("table a", has=page.locator("time")).first
    link.click()
    page.wait_for_url("**/probe/**")
    assert_times(page, "UTC")


def test_times_without_javascript_are_in_utc_and_labelled(away: Away) -> None:
    page = away(f"/history/{BIG}", java_script_enabled=False)
    expect(page.locator("#zone")).to_have_text("UTC")
    for each in page.locator("time").all():
        shown = in_zone(each.get_attribute("datetime") or "", "UTC")
        expect(each).to_have_text(f"{shown} UTC")


def ticks(page: Page, panel: str = FIRST) -> list[str]:
    """Return the labels of the time axis of lines."""
    found: list[str] = page.eval_on_selector(
        panel, "element => element.panel.picture?.chart?.axes[0]._values ?? []"
    )
    return found


def test_charts_and_their_range_follow_the_switch(away: Away) -> None:
    page = away(f"/dashboards/monitor?host={BIG}&last=24h")
    wait_for_points(page)
    wait_until(lambda: ticks(page), what="ticks")
    # Whole hours in Adelaide are half hours in UTC, and the reverse.
    assert all(tick.endswith(":00") for tick in ticks(page) if ":" in tick)
    live = state(page).inner_text()
    heat = page.locator(MAP).first
    heat.scroll_into_view_if_needed()
    canvas = heat.locator("canvas")
    expect(canvas).to_be_visible()
    choose(page, "UTC")
    assert all(tick.endswith(":00") for tick in ticks(page) if ":" in tick)
    expect(state(page)).not_to_have_text(live)
    hour = datetime.now(UTC).strftime("%H:")
    expect(state(page)).to_contain_text(f"Live · {hour}")


def test_range_fields_are_in_the_zone(away: Away) -> None:
    page = away(f"/dashboards/monitor?host={BIG}&{DAY}")
    page.get_by_text("From – to", exact=True).click()
    start = page.locator("[data-control=from]")
    wait_until(lambda: start.input_value(), what="the range in its fields")
    assert start.input_value().replace("T", " ")[:16] == "2026-03-01 10:30"
    choose(page, "UTC")
    assert start.input_value()[:16] == "2026-03-01T00:00"
    start.fill("2026-03-01T06:00:00")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url("**from=2026-03-01T06%3A00%3A00Z*")
    expect(state(page)).to_contain_text("1 Mar, 06:00:00 – 2 Mar, 00:00:00")


@pytest.mark.parametrize("path", ["/observations", "/queries/observations/runs"])
def test_requested_times_are_in_the_zone(away: Away, path: str) -> None:
    page = away(f"{path}?since=2026-11-20T13:30&until=2026-12")
    since, until = (page.locator(f"input[name={name}]") for name in ("since", "until"))
    about = page.locator("#about-since [data-zone]")
    expect(since).to_have_value("2026-11-21T00:00:00")
    expect(until).to_have_value("2026-12")
    expect(about).to_have_text(ZONE)
    choose(page, "UTC")
    expect(since).to_have_value("2026-11-20T13:30:00")
    expect(about).to_have_text("UTC")
    choose(page, "Local")
    since.fill("2026-11-22")
    page.locator("form.parameters button.primary").click()
    page.wait_for_url("**since=2026-11-21T13%3A30%3A00&until=2026-12*")
    expect(since).to_have_value("2026-11-22T00:00:00")
