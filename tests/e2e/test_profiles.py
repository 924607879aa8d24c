"""Profiles of real runs: printed, recorded, exported, compared and on their pages."""

import gzip
import json
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.observation_pages import Open
from tests.observations.profiles.recorded import ROUNDS, build
from tests.observed import outcome, runs
from tests.stack import Stack

pytestmark = pytest.mark.e2e


def test_profile_is_printed_recorded_exported_and_compared(
    stack: Stack, tmp_path: Path
) -> None:
    two = build(tmp_path, "-g")
    words = ("observe", "--rate", "499", "--", two)
    first, second = (stack.run(*words, n) for n in (ROUNDS, "1500"))
    assert " stacks by " in first.stderr
    (((_, iri),), ((_, other),)) = runs(first.stderr), runs(second.stderr)
    assert outcome(stack, iri) == "completed"
    query = ("query", "observations/profiles", "--format", "json", "--id", iri)
    (row,) = json.loads(
        stack.run(*query, "--of", "binary", "--text", two, "--above", "0.2").stdout
    )
    assert float(row["own"]) > 0.9
    (row,) = json.loads(stack.run(*query, "--of", "function", "--text", "three").stdout)
    assert float(row["own"]) == pytest.approx(0.75, abs=0.06)
    assert row["file"].endswith("two.c")
    calls = json.loads(stack.run(*query, "--of", "call", "--text", "work > ").stdout)
    assert {one["name"] for one in calls} == {"work > three", "work > one"}
    written = {}
    for form in ("pprof", "folded", "speedscope"):
        written[form] = tmp_path / form
        options = ("--format", form, "--out", str(written[form]))
        stack.run("export", "profile", iri, *options)
    assert b"three" in gzip.decompress(written["pprof"].read_bytes())
    assert "main;work;three " in written["folded"].read_text()
    assert json.loads(written["speedscope"].read_text())["profiles"]
    path = iri.replace("/observation/", "/observations/")
    tree = httpx.get(f"{path}/profile").raise_for_status().json()
    assert tree["shares"] == [1]
    parameters = {"with": other.rpartition("/")[2]}
    both = httpx.get(f"{path}/profile", params=parameters).raise_for_status().json()
    assert both["shares"] == [1, 1]
    page = httpx.get(iri, headers={"Accept": "text/html"}).raise_for_status().text
    assert '<h2 id="profile">Profile' in page


def test_run_without_profile_has_no_file(stack: Stack, tmp_path: Path) -> None:
    done = stack.run("observe", "--", "true")
    ((_, iri),) = runs(done.stderr)
    path = iri.replace("/observation/", "/observations/")
    answer = httpx.get(f"{path}/profile")
    assert answer.status_code == 404
    assert answer.json()["type"].endswith("no-profile")
    out = ("--out", str(tmp_path / "p"))
    done = stack.run("export", "profile", iri, *out, check=False)
    assert "no-profile" in done.stderr
    assert not (tmp_path / "p").exists()


def test_profile_and_hot_loops_exclude_each_other(stack: Stack) -> None:
    words = ("observe", "--profile", "--hot-loops", "--", "true")
    done = stack.run(*words, check=False)
    assert done.returncode != 0
    assert "request one of them" in done.stderr


def test_flame_graph_zooms_and_shows_a_difference(
    stack: Stack, visit: Open, tmp_path: Path
) -> None:
    two, even = build(tmp_path, "-g"), build(tmp_path, "-g", "-DTIMES=1", name="even")
    words = ("observe", "--rate", "499", "--")
    found = [stack.run(*words, one, ROUNDS) for one in (two, even)]
    (((_, iri),), ((_, other),)) = (runs(one.stderr) for one in found)
    page = visit(f"/observation/{iri.rpartition('/')[2]}")
    three = page.locator(".flame button[data-name=three]")
    expect(three).to_have_count(1)
    assert float(three.get_attribute("data-shares") or 0) == pytest.approx(
        0.75, abs=0.06
    )
    wide = three.bounding_box()
    whole = page.locator(".flame").bounding_box()
    assert wide and whole
    assert wide["width"] / whole["width"] == pytest.approx(0.75, abs=0.06)
    expect(page.locator(".flame-note")).to_contain_text("at 499 Hz")
    _picture(page, tmp_path, "profile")
    three.click()
    expect(page.locator(".flame button")).to_have_count(1)
    page.get_by_label("Difference to run").fill(other.rpartition("/")[2])
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".flame-note")).to_contain_text("more in the second")
    shares = (three.get_attribute("data-shares") or "").split()
    before, after = map(float, shares)
    assert before - after == pytest.approx(0.25, abs=0.08)
    _picture(page, tmp_path, "difference")
    page.get_by_label("Difference to run").fill("nothing")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#profile-part .banner")).to_contain_text("not stored here")


def _picture(page: Page, folder: Path, name: str) -> None:
    page.locator("#profile-part").screenshot(path=folder / f"{name}.png")
