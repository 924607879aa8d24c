"""The drawing of a machine in a browser: live colours, clicks and keyboard use."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from ingest.hwloc.topology_file import keep_xml
from tests.dashboards.synthetic_facts import big_document, topology
from tests.servers import wait_until
from tests.web.conftest import Open
from tests.web.site import AHEAD_S, BIG, HOSTILE, QUIET, Site

# The dark and the bright end of cividis, as in theme.css.
IDLE, BUSY = "rgb(0, 34, 78)", "rgb(254, 232, 56)"


@pytest.fixture(scope="module", autouse=True)
def kept(site: Site) -> Iterator[None]:
    """Store the topologies of the site's hosts, as ingest does."""
    home = Path(site.api.env["SUPERTWIN_HOME"])
    quiet = big_document(QUIET, topology("pack:1 l2:2 l1d:1 core:1 pu:2"))
    for document in (big_document(BIG, topology()), quiet):
        xml = document["facts"]["hwloc"]["xml"]
        assert keep_xml(home, document["host"], xml) == ""
    yield


def write_idle(site: Site, instance: str, share: float) -> None:
    """Write the idle time of a thread for the last seconds and the next minutes."""
    now = int(time.time())
    lines = [
        f'kernel_percpu_cpu_idle{{hostname="{BIG}",instname="{instance}"}} '
        f"{10**9 + round(share * 1000 * second)} {(now + second) * 1000}"
        for second in range(-20, AHEAD_S)
    ]
    url = site.store.url
    body = "\n".join(lines)
    httpx.post(f"{url}/api/v1/import/prometheus", content=body).raise_for_status()
    httpx.get(f"{url}/internal/force_flush").raise_for_status()


def forget_idle(site: Site, instance: str) -> None:
    series = f'kernel_percpu_cpu_idle{{hostname="{BIG}",instname="{instance}"}}'
    url = f"{site.store.url}/api/v1/admin/tsdb/delete_series"
    httpx.post(url, params={"match[]": series}).raise_for_status()


def fill_of(page: Page, thread: int) -> str:
    script = "box => getComputedStyle(box).fill"
    found: str = page.eval_on_selector(f'a[data-iri$="/thread/{thread}"] rect', script)
    return found


def test_every_thread_is_drawn_and_coloured(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/drawing").page
    expect(page.locator("#live")).to_have_text("live, 128 of 128 threads")
    assert page.locator("a[data-kind=thread]").count() == 128
    assert page.locator('rect.b-thread:not([data-share=""])').count() == 128
    fills = {fill_of(page, thread) for thread in range(128)}
    assert len(fills) > 8 and all(fill.startswith("rgb(") for fill in fills)
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]
    sheet = page.locator("#sheet").bounding_box()
    svg = page.locator("#sheet svg").bounding_box()
    assert sheet and svg
    assert svg["width"] <= sheet["width"] and svg["height"] <= sheet["height"]


def test_colours_follow_the_values(visit: Open, site: Site) -> None:
    """An idle thread becomes busy without a reload."""
    for instance, share in (("cpu3", 1.0), ("cpu4", 0.0)):
        forget_idle(site, instance)
        write_idle(site, instance, share)
    page = visit(f"/twin/{BIG}/drawing").page
    box = page.locator('a[data-iri$="/thread/3"] rect')
    expect(box).to_have_attribute("data-share", "0.000")
    assert fill_of(page, 3) == IDLE and fill_of(page, 4) == BUSY
    page.evaluate("window.same = true")
    forget_idle(site, "cpu3")
    expect(box).to_have_attribute("data-share", "")
    assert "no-value" in fill_of(page, 3)
    write_idle(site, "cpu3", 0.0)
    expect(box).to_have_attribute("data-share", "1.000")
    assert fill_of(page, 3) == BUSY
    assert page.evaluate("window.same") is True


def test_click_opens_the_component(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/drawing").page
    page.locator('a[data-iri$="/thread/5"]').click()
    page.wait_for_url(f"**/twin/{BIG}/thread/5")
    expect(page.locator("h1")).to_have_text("thread 5")
    page.get_by_role("link", name="Drawing").click()
    page.wait_for_url("**/drawing?mark=*")
    marked = page.locator("rect.marked")
    assert marked.count() == 1
    assert marked.locator("..").get_attribute("data-id") == "5"


def test_boxes_can_be_selected_by_keyboard(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/drawing").page
    assert page.locator("svg.machine a[tabindex='0']").count() == 1
    page.locator("svg.machine a[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    focused = "document.activeElement.dataset.kind"
    assert page.evaluate(focused)
    before = page.evaluate("document.activeElement.dataset.iri")
    page.keyboard.press("ArrowRight")
    after = page.evaluate("document.activeElement.dataset.iri")
    assert after != before
    expect(page.locator(".tooltip")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(re.escape(after.partition("/twin/")[2])))


def test_arrow_keys_stay_with_one_kind(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/drawing").page
    page.locator("svg.machine a[data-id='1'][data-kind=thread]").focus()
    walked = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
        walked.append(page.evaluate("document.activeElement.dataset.kind"))
    assert walked == ["thread"] * 3
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('svg.machine')") is None
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.dataset.kind") == "thread"


def test_tooltip_names_component_and_value(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/drawing").page
    expect(page.locator("#live")).to_contain_text("live")
    page.locator('a[data-iri$="/thread/6"] rect').hover()
    expect(page.locator(".tooltip")).to_contain_text("thread 6")
    expect(page.locator(".tooltip")).to_contain_text(re.compile(r"busy[\d.]+ %"))


def test_hostile_names_are_text(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/drawing").page
    page.locator('a[data-iri$="/thread/0"] rect').hover()
    expect(page.locator(".tooltip .tip-title")).to_have_text(HOSTILE)
    assert page.evaluate("window.hacked") is None


def test_drawing_can_be_zoomed_and_fitted(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/drawing").page
    svg = page.locator("svg.machine")
    fitted = svg.bounding_box()
    page.get_by_role("button", name="Larger").click()
    page.get_by_role("button", name="Larger").click()
    larger = svg.bounding_box()
    assert fitted and larger and larger["width"] > 1.5 * fitted["width"]
    expect(page.get_by_role("button", name="Fit")).to_have_attribute(
        "aria-pressed", "false"
    )
    page.get_by_role("button", name="Fit").click()
    assert svg.bounding_box() == fitted


def test_dragging_moves_without_opening(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/drawing").page
    for _ in range(4):
        page.get_by_role("button", name="Larger").click()
    page.locator("#sheet").evaluate("sheet => sheet.scrollTo(200, 100)")
    page.mouse.move(600, 500)
    page.mouse.down()
    page.mouse.move(500, 450, steps=5)
    page.mouse.up()
    assert page.locator("#sheet").evaluate("sheet => sheet.scrollLeft") == 300
    assert page.url.endswith("/drawing")


def test_host_without_a_plan_is_hatched(visit: Open) -> None:
    page = visit(f"/twin/{QUIET}/drawing", "dark").page
    expect(page.locator("#live")).to_have_text(re.compile("^no"))
    assert "no-value" in fill_of(page, 0)


def test_unreachable_store_is_shown_until_it_returns(visit: Open, site: Site) -> None:
    watched = visit(f"/twin/{BIG}/drawing")
    page = watched.page
    expect(page.locator("#live")).to_contain_text("live")
    site.store.end()
    try:
        expect(page.locator("#problem")).to_contain_text(
            "VictoriaMetrics does not answer"
        )
        expect(page.locator("#live")).to_have_text("no values")
    finally:
        site.store.start()
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator("#live")).to_contain_text("live")


def test_load_of_a_host_is_served(site: Site) -> None:
    found: dict[str, Any] = {}

    def is_complete() -> bool:
        found.update(site.get(f"/twin/{BIG}/load").json())
        return None not in found["busy"].values()

    # The store was restarted just before.
    wait_until(is_complete, what="the load of every thread")
    assert len(found["busy"]) == 128 and found["problem"] == ""
    assert all(0 <= share <= 1 for share in found["busy"].values())
    assert f"{site.url}/twin/{BIG}/thread/127" in found["busy"]
    unknown = site.get("/twin/nobody/load")
    assert unknown.status_code == 404
    assert "no host 'nobody'" in unknown.json()["detail"]
