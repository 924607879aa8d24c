"""Dashboards in a browser: live, filtered, in other time ranges, and with failures."""

import re
import signal
import time
from typing import Any

from playwright.sync_api import Page, expect

from tests.servers import wait_until
from tests.web.conftest import Open
from tests.web.site import BIG, HOSTILE, QUIET, Site

MONITOR = f"/dashboards/monitor?host={BIG}"
FIRST = "#panel-host-cpu-time"
MAP = ".draws-heatmap"
_LIVE = re.compile(r"^Live · \d\d:\d\d:\d\d$")


def times(page: Page, panel: str = FIRST) -> list[float]:
    """Return the times of the points that a panel holds."""
    found: list[float] = page.eval_on_selector(
        panel, "element => Array.from(element.panel.frame.times)"
    )
    return found


def wait_for_points(page: Page, panel: str = FIRST) -> list[float]:
    wait_until(lambda: times(page, panel), what=f"points of {panel}")
    return times(page, panel)


def state(page: Page) -> Any:
    return page.locator("[data-control=state]")


def test_points_arrive_without_reload(visit: Open) -> None:
    page = visit(MONITOR).page
    page.evaluate("window.sameDocument = true")
    first = wait_for_points(page)
    assert len(first) > 250
    wait_until(lambda: times(page)[-1] >= first[-1] + 5, what="five more seconds")
    assert times(page)[0] > first[0] and len(times(page)) <= 301
    assert page.evaluate("window.sameDocument")
    expect(state(page)).to_have_text(_LIVE)
    drawn = page.evaluate("performance.getEntriesByName('first-picture').length")
    assert drawn >= 1


def test_canvas_is_not_empty(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    colours = """canvas => {
      const pen = canvas.getContext('2d');
      const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
      const found = new Set();
      for (let i = 0; i < data.length; i += 16)
        found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
      return found.size;
    }"""

    def drawn(panel: str) -> bool:
        canvas = page.locator(panel).locator("canvas").first
        return bool(canvas.evaluate(colours) > 20)

    for panel in (FIRST, f"{MAP} >> nth=0"):
        page.locator(panel).scroll_into_view_if_needed()
        wait_until(lambda panel=panel: drawn(panel), what=f"a picture in {panel}")


def test_hidden_panels_are_drawn_once_for_captures(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    last = page.locator(".draws-timeseries").last
    expect(last.locator("canvas").first).to_be_attached()
    assert page.evaluate("window.scrollY") == 0


def test_range_of_a_month_is_not_live(visit: Open) -> None:
    page = visit(f"{MONITOR}&last=30d").page
    wait_for_points(page)
    expect(state(page)).not_to_have_text(_LIVE)
    expect(page.locator("#banner")).to_be_hidden()
    found = times(page)
    assert found[-1] - found[0] <= 30 * 86400 + 3600


def test_no_crosshair_stays_after_a_zoom(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    over = page.locator(f"{FIRST} .u-over")
    box = over.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 100, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 250, middle, steps=5)
    page.mouse.up()
    page.wait_for_url("**from=*")
    marks = """() => [...document.querySelectorAll(".u-cursor-x")]
      .filter((mark) => !mark.classList.contains("u-off"))
      .map((mark) => new DOMMatrix(getComputedStyle(mark).transform).e)
      .filter((left) => left >= 0).length"""
    wait_until(lambda: page.evaluate(marks) == 0, what="no crosshair")


def test_pause_stops_and_resume_goes_on(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    expect(state(page)).to_have_text(_LIVE)
    page.keyboard.press("Space")
    expect(state(page)).to_have_text("Paused")
    stopped = times(page)[-1]
    time.sleep(2.5)
    assert times(page)[-1] == stopped
    page.get_by_role("button", name="Resume").click()
    wait_until(lambda: times(page)[-1] > stopped + 1, what="newer points")
    expect(state(page)).to_have_text(_LIVE)


def test_range_is_in_the_url(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    page.get_by_role("button", name="15m").click()
    assert "last=15m" in page.url
    wait_until(lambda: _span(page) > 800, what="15 minutes")
    page.reload()
    wait_for_points(page)
    assert _span(page) > 800
    pressed = page.locator("[data-control=presets] [aria-pressed=true]")
    expect(pressed).to_have_text("15m")
    page.go_back()
    wait_until(lambda: 200 < _span(page) < 310, what="5 minutes again")


def _span(page: Page) -> float:
    found = times(page)
    return found[-1] - found[0] if found else 0


def test_dragging_in_a_chart_sets_the_range(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    box = page.locator(f"{FIRST} .u-over").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 40, steps=4)
    page.mouse.up()
    page.wait_for_url(re.compile(r"from=.*&to="))
    wait_until(lambda: 60 < _span(page) < 120, what="the range that was dragged over")
    expect(state(page)).not_to_have_text(_LIVE)
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()
    page.get_by_role("button", name="5m", exact=True).click()
    expect(state(page)).to_have_text(_LIVE)


def test_past_range_is_not_live(visit: Open) -> None:
    end = int(time.time()) - 60
    page = visit(f"{MONITOR}&from={end - 120}&to={end}").page
    found = wait_for_points(page)
    assert end - 121 <= found[0] and found[-1] <= end + 1
    time.sleep(1.5)
    assert times(page) == found


def test_invalid_range_shows_the_format(visit: Open) -> None:
    page = visit(f"{MONITOR}&last=soon").page
    alert = page.locator("#banner")
    expect(alert).to_contain_text("last=soon is not understood: write it as last=15m")
    assert len(wait_for_points(page)) > 250
    expect(alert).to_be_visible()


def test_component_limits_suitable_panels(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    assert _rows(page) == [64, 64, 128]
    chooser = page.locator("[data-control=component]")
    label = "L3 of threads 0-3,64-67"
    chooser.select_option(label=label)
    assert "component=" in page.url
    assert _rows(page) == [8, 0, 8]
    expect(page.get_by_role("heading", name="Socket 1")).to_be_hidden()
    page.reload()
    wait_for_points(page)
    assert _rows(page) == [8, 0, 8]
    expect(chooser.locator("option:checked")).to_have_text(label)
    page.go_back()
    wait_until(lambda: _rows(page) == [64, 64, 128])


def _rows(page: Page) -> list[int]:
    """Return the number of rows of each heat map."""
    count = "all => all.map(each => each.panel.shown.length)"
    found: list[int] = page.eval_on_selector_all(MAP, count)
    return found


def test_drop_down_opens_another_host(visit: Open) -> None:
    page = visit(MONITOR).page
    page.get_by_label("Host").select_option(QUIET)
    page.wait_for_url(re.compile(f"host={QUIET}"))
    expect(page.get_by_label("Host")).to_have_value(QUIET)


def test_each_panel_explains_a_host_without_series(visit: Open) -> None:
    page = visit(f"/dashboards/monitor?host={QUIET}").page
    message = page.locator(f"{FIRST} .panel-message")
    expect(message).to_be_visible()
    expect(message).to_contain_text(re.compile(r"bridge|sampled", re.IGNORECASE))


def test_markup_in_names_is_text(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    title = page.get_by_role("heading", name="L3 of threads 0-3,64-67", exact=True)
    title.scroll_into_view_if_needed()
    link = page.locator(".legend a", has_text="window.hacked").first
    assert link.inner_text() == HOSTILE
    page.goto(page.url.replace("monitor", "inventory").replace(BIG, QUIET))
    # A panel is drawn when it comes into view.
    disks = page.get_by_role("heading", name="Disks", exact=True)
    disks.scroll_into_view_if_needed()
    cell = page.locator("td", has_text="window.hacked").first
    cell.scroll_into_view_if_needed()
    assert cell.inner_text() == HOSTILE
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img").count() == 0


def test_dead_store_is_shown_and_points_return(visit: Open, site: Site) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    page.evaluate("window.sameDocument = true")
    site.store.end(signal.SIGTERM)
    try:
        banner = page.locator("#banner")
        expect(banner).to_contain_text("VictoriaMetrics does not answer")
        expect(state(page)).to_have_text("Unreachable")
        last = times(page)[-1]
    finally:
        site.store.start()
    expect(banner).to_be_hidden()
    wait_until(lambda: times(page)[-1] > last + 2, what="newer points")
    expect(state(page)).to_have_text(_LIVE)
    assert page.evaluate("window.sameDocument")


def test_tables_are_sorted_by_their_headers(visit: Open) -> None:
    page = visit("/dashboards/inventory").page
    table = page.locator(".draws-table", has=page.get_by_text("Hosts", exact=True))
    threads = table.first.get_by_role("button", name="Threads")
    first = table.first.locator("tbody tr td").first
    threads.click()
    expect(first).to_have_text(QUIET)
    threads.press("Enter")
    expect(first).to_have_text(BIG)
    header = table.first.locator("th[aria-sort]")
    expect(header).to_have_attribute("aria-sort", "descending")
    memory = table.first.locator("td.number", has_text="512 GiB").first
    assert memory.evaluate("cell => getComputedStyle(cell).textAlign") == "right"
    node = table.first.get_by_role("link", name=BIG)
    expect(node).to_have_attribute("href", f"/twin/{BIG}")


def test_tooltip_shows_values_and_other_panels_follow(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    page.locator(f"{FIRST} .u-over").hover()
    tip = page.locator(".tooltip")
    expect(tip).to_contain_text(re.compile(r"\d\d:\d\d:\d\d"))
    expect(tip).to_contain_text("user")
    other = page.locator("#panel-host-pressure .u-cursor-x")
    wait_until(lambda: "translate(-10px" not in other.get_attribute("style"))
    # The other panels follow without tooltips, even after the next point arrives.
    last = times(page)[-1]
    wait_until(lambda: times(page)[-1] > last + 1)
    expect(tip).to_contain_text("user")
    expect(page.locator(".overlay:not([hidden])")).to_have_count(
        page.locator(f"{FIRST} .overlay:not([hidden])").count()
    )


def test_heat_map_can_be_used_by_keyboard(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    canvas = page.locator(f"{MAP} canvas").first
    canvas.scroll_into_view_if_needed()
    wait_for_points(page, f"{MAP} >> nth=0")
    expect(canvas).to_have_attribute("aria-label", re.compile("heat map of 64 rows"))
    canvas.focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    tip = page.locator(".tooltip")
    expect(tip).to_contain_text("thread 64")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"/twin/{BIG}/thread/64$"))


def test_dashboard_can_be_used_by_keyboard(visit: Open) -> None:
    page = visit(MONITOR).page
    page.keyboard.press("Tab")
    focused = page.locator(":focus")
    expect(focused).to_have_text("Skip to the content")
    assert focused.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    section = page.locator(".board-section").first
    section.locator("summary").first.focus()
    page.keyboard.press("Enter")
    expect(section).not_to_have_attribute("open", "")
    page.keyboard.press("Space")
    expect(section).to_have_attribute("open", "")
