"""Charts on the pages of series and of metrics, with the dashboards' time picker."""

import re

from playwright.sync_api import Page, expect

from tests.servers import wait_until
from tests.web.conftest import Open
from tests.web.site import BIG, QUIET
from tests.web.test_dashboard import state, times, wait_for_points

METRIC = "kernel.percpu.cpu.user"
SERIES = f"/twin/{BIG}/telemetry/{METRIC}/cpu3"
PANEL = "section.panel"


def drawn(page: Page) -> list[str]:
    """Return the names of the series in the chart."""
    found: list[str] = page.eval_on_selector(
        PANEL, "element => element.panel.panel.series.map((one) => one.label)"
    )
    return found


def test_series_page_is_live(visit: Open) -> None:
    page = visit(SERIES).page
    first = wait_for_points(page, PANEL)
    assert drawn(page) == ["cpu3"]
    expect(state(page)).to_have_text(re.compile("^Live"))
    expect(page.locator(f"{PANEL} .legend-value")).to_have_text(re.compile(r"\d"))
    wait_until(lambda: times(page, PANEL)[-1] > first[-1], what="newer points")
    page.get_by_role("button", name="15m").click()
    page.wait_for_url("**?last=15m")
    wait_until(
        lambda: (found := times(page, PANEL)) and found[-1] - found[0] > 600,
        what="points of a quarter of an hour",
    )
    page.go_back()
    expect(page.get_by_role("button", name="5m", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )


def test_series_page_takes_a_fixed_range(visit: Open) -> None:
    page = visit(f"{SERIES}?from=2026-03-01T00:00:00Z&to=2026-03-01T01:00:00Z").page
    expect(state(page)).to_have_attribute("data-state", "range")
    message = page.locator(f"{PANEL} .panel-message")
    expect(message).to_have_text(
        f"no sample of {METRIC} in this time, but there are others"
    )


def test_series_without_instances_has_a_chart(visit: Open) -> None:
    page = visit(f"/twin/{BIG}/telemetry/kernel.all.nprocs/~").page
    wait_for_points(page, PANEL)
    assert drawn(page) == ["kernel.all.nprocs"]


def test_metric_page_shows_all_series_of_the_chosen_host(visit: Open) -> None:
    page = visit(f"/metric/{METRIC}").page
    wait_for_points(page, PANEL)
    assert len(drawn(page)) == 128
    query = page.locator(".panel-query").get_attribute("href") or ""
    assert f"metric={METRIC}" in query and f"host={BIG}" in query
    page.get_by_label("Host").select_option(QUIET)
    page.wait_for_url(f"**/metric/{METRIC}?host={QUIET}")
    expect(page.locator(f"{PANEL} .panel-message")).to_contain_text("bridge")
    assert len(drawn(page)) == 4
