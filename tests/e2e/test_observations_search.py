"""Recorded runs in a browser: found, selected, compared."""

import re

import httpx
import pytest
from playwright.sync_api import expect

from tests.e2e.observation_pages import Open, assert_drawn, assert_fits
from tests.web.test_appearance import CONTRAST

pytestmark = pytest.mark.e2e

NARROW = {"width": 420, "height": 800}


@pytest.mark.serial
def test_runs_are_searched_selected_and_compared(
    visit: Open, pair: dict[str, str]
) -> None:
    page = visit("/observations")
    page.get_by_label("tag", exact=True).fill("pair")
    page.get_by_role("button", name="Find").click()
    page.wait_for_url("**/observations?*tag=pair*")
    rows = page.locator("#recorded tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("3 runs")
    compare = page.locator("#compare")
    expect(compare).to_be_disabled()
    for box in reversed(page.get_by_role("checkbox").all()):
        box.check()
    compare.click()
    page.wait_for_url("**/observations/compare?*")
    assert page.locator(".comparison thead th").count() == 3
    took = page.locator("#measures tbody tr").first
    expect(took).to_contain_text("duration")
    # The latest run is listed first, and is the longer one.
    expect(took.locator(".verdict")).to_contain_text(re.compile(r"better -\d\d"))
    expect(page.locator("table", has_text="argument vector").last).to_contain_text(
        '"0.1"'
    )
    assert_drawn(page, "kernel.all.pswitch")
    page.get_by_label("Only certain differences").check()
    expect(page.locator("#left")).to_contain_text("left out")
    expect(took).to_contain_text("tolerance ±5 %")
    page.get_by_label("Tolerance").fill("12.5")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/observations/compare?*tolerance=12.5")
    expect(page.locator("#measures tbody tr").first).to_contain_text(
        "tolerance ±12.5 %"
    )
    page.locator(".comparison thead a.command").first.click()
    page.wait_for_url(f"**/observations?group={pair['long']}")
    expect(rows).to_have_count(3)


def test_metric_condition_and_invalid_value(
    visit: Open, pair: dict[str, str], operator: httpx.Client
) -> None:
    path = "/observations?tag=pair&metric=kernel.all.pswitch&above="
    assert len(operator.get(f"{path}0").json()) == 6
    assert operator.get(f"{path}1e12").json() == []
    page = visit(f"{path}1e12")
    expect(page.locator("#none")).to_be_visible()
    answer = operator.get(f"{path}much")
    assert answer.status_code == 400
    assert answer.json()["type"].endswith("/bad-parameter")
    assert answer.json()["parameter"] == "above"
    answer = operator.get("/observations?above=1")
    assert "name the metric too" in answer.json()["detail"]
    assert (
        "no parameter 'colour' here"
        in operator.get("/observations?colour=red").json()["detail"]
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_and_nothing_overflows(
    visit: Open, pair: dict[str, str], operator_token: str, scheme: str
) -> None:
    page = visit("/observations", operator_token, scheme)
    ids = "&".join(f"id={id_}" for id_ in pair.values())
    for path in (
        "/observations?tag=pair",
        "/observations/new",
        f"/observation/{pair['short']}-1",
        f"/observations/compare?{ids}",
    ):
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(page.url.partition("/obs")[0] + path)
        assert not page.evaluate(CONTRAST), path
        for size in ({"width": 1280, "height": 800}, NARROW):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            assert_fits(page, size["width"])


def test_times_are_shown_since_the_start(visit: Open) -> None:
    script = """([seconds, step]) => import("/static/charts/times.js")
      .then(({ formatSince }) => formatSince(seconds, step))"""
    page = visit("/observations/new")
    for seconds, step, text in (
        (0.25, 0.05, "0.25 s"),
        (-0.01, 0.005, "−0.010 s"),
        (60, 20, "60 s"),
        (125, 30, "2:05"),
        (3725, 600, "1:02:05"),
    ):
        assert page.evaluate(script, [seconds, step]) == text
