"""The page that chooses CPUs for pinning, in a browser."""

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Open
from tests.web.site import BIG


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_form_shows_marked_cpus_and_commands(visit: Open, scheme: str) -> None:
    page = visit("/pin", scheme).page
    page.get_by_label("host").fill(BIG)
    page.get_by_label("threads", exact=True).fill("4")
    page.get_by_label("policy").fill("per:socket=2+distinct:l3")
    page.get_by_role("button", name="Place").click()
    page.wait_for_url("**/pin?host=*")
    assert page.locator(".cpu.chosen").all_inner_texts() == ["0", "4", "32", "36"]
    row = page.get_by_role("row", name="taskset")
    expect(row).to_contain_text("taskset -c 0,4,32,36 COMMAND")
    expect(page.get_by_role("main")).to_contain_text("No two share an L3 cache")
    wide = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert wide
    expect(page.get_by_role("main")).to_contain_text("Computed over the rows of")
    page.get_by_role("link", name="pinning/threads").click()
    page.wait_for_url("**/queries/pinning/threads?host=*")


def test_form_places_ranks(visit: Open) -> None:
    page = visit(f"/pin?host={BIG}&threads=2&policy=").page
    page.get_by_text("Ranks with threads").click()
    page.get_by_label("ranks").fill("4")
    page.get_by_label("map").select_option("l3")
    page.get_by_label("format").select_option("rankfile")
    page.get_by_role("button", name="Place").click()
    expect(page.get_by_role("row", name="rankfile")).to_contain_text("rank 3=")
    assert page.locator(".cpu.chosen").count() == 8


@pytest.mark.parametrize("asked", ["threads=128", "threads=1&ranks=64"])
def test_large_host_fits_into_the_window(visit: Open, asked: str) -> None:
    page = visit(f"/pin?host={BIG}&{asked}").page
    assert page.locator(".cpu.chosen").count() >= 64
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
