"""Each kind of picture, from a spec written by hand."""

import math
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import watched_page
from tests.servers import wait_until
from tests.web.handmade import ABSENT, BROKEN, DEAD, handmade_site


@pytest.fixture(scope="module")
def handmade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with handmade_site(tmp_path_factory.mktemp("state")) as url:
        yield url


@pytest.fixture
def page(browser: Browser, handmade: str) -> Iterator[Page]:
    with watched_page(browser, handmade) as watched:
        watched.page.goto(f"{handmade}/dashboards/handmade")
        yield watched.page
        watched.check()


def test_single_values_are_shown(page: Page) -> None:
    tiles = page.locator("#panel-stats li")
    expect(tiles).to_have_count(3)
    for tile in tiles.all():
        expect(tile.locator(".stat-value")).to_contain_text("%")
    link = tiles.first.get_by_role("link", name="thread 0")
    expect(link).to_have_attribute("href", "/twin/n1/thread/0")


def test_bars_are_as_long_as_their_values(page: Page) -> None:
    bars = page.locator("#panel-bars li")
    expect(bars.first.locator(".bar-value")).to_contain_text("%")
    for bar in bars.all():
        share = float(bar.locator(".bar-value").inner_text().removesuffix(" %")) / 100
        track = bar.locator(".bar-track").bounding_box()
        drawn = bar.locator(".bar-track span").bounding_box()
        assert track and drawn
        assert drawn["width"] / track["width"] == pytest.approx(share, abs=0.01)


def test_stacked_values_are_sums(page: Page) -> None:
    sums = """element => {
      const { frame, picture } = element.panel;
      if (!picture?.drawn) return null;
      const last = frame.length - 1;
      const sum = frame.values.reduce((all, values) => all + values[last], 0);
      return [picture.drawn.arrays[0][last], sum];
    }"""
    panel = page.locator("#panel-stack")

    def is_drawn() -> bool:
        # A newer frame is drawn a moment after it has come.
        drawn, expected = panel.evaluate(sums) or (None, 0.0)
        return bool(drawn == pytest.approx(expected))

    wait_until(is_drawn, what="the sums of the last frame")


def test_value_axis_follows_the_values(page: Page) -> None:
    tops = """async element => {
      const { picture, frame } = element.panel;
      if (!picture?.chart) return null;
      const { panel, range } = picture;
      const { Lines } = await import("/static/charts/lines.js");
      const box = document.body.appendChild(Object.assign(
        document.createElement("div"), { style: "width: 600px; height: 200px" }));
      const chart = new Lines(box, { ...panel, maximum: null }, {});
      const tops = [];
      for (const scale of [1, 100, 1]) {
        const values = frame.values.map((column) => column.map((v) => v * scale));
        const { times, step } = frame;
        chart.update({ times, step, values, boundedTimes: () => [] }, range);
        await new Promise(requestAnimationFrame);
        tops.push(chart.chart.scales.y.max);
      }
      chart.destroy();
      box.remove();
      return tops;
    }"""
    panel = page.locator("#panel-stack")
    wait_until(lambda: panel.evaluate(tops))
    before, risen, fallen = panel.evaluate(tops)
    assert risen > 50 * before
    assert fallen == pytest.approx(before, rel=0.5)


def test_roofline_has_lines_and_linked_points(page: Page) -> None:
    chart = page.locator("#panel-lines .roofline")
    chart.scroll_into_view_if_needed()
    for name in ("roof", "peak", "run"):
        expect(chart.locator(f".{name}")).to_have_count(1)
    expect(chart.locator("a")).to_have_attribute("href", "/observation/a")
    expect(chart.locator("circle title")).to_contain_text("./solver: 2 operations")

    def at(name: str, attribute: str) -> float:
        return float(chart.locator(f".{name}").get_attribute(attribute) or "nan")

    roof_end, peak = at("roof", "y2"), at("peak", "y1")
    assert roof_end == pytest.approx(at("peak", "y2")) == pytest.approx(peak)
    # The run has an eighth of the peak, at a quarter of the ridge's intensity.
    decade = (at("roof", "y1") - roof_end) / math.log10(64)
    assert at("run", "cy") - peak == pytest.approx(decade * math.log10(8))
    wide = (at("roof", "x2") - at("roof", "x1")) / math.log10(64)
    assert at("roof", "x2") - at("run", "cx") == pytest.approx(wide * math.log10(4))


def test_many_lines_start_as_a_band(page: Page) -> None:
    panel = page.locator("#panel-many")
    expect(panel.locator(".legend summary")).to_have_text("64 series")
    kind = "element => [element.panel.picture.drawn.arrays.length]"
    assert panel.evaluate(kind) == [3]
    middle = """element => {
      const { frame, picture } = element.panel;
      const column = frame.values.map((values) => values[0]).sort((a, b) => a - b);
      return [picture.drawn.arrays.map((values) => values[0]),
        [column[63], column[0], (column[31] + column[32]) / 2]];
    }"""
    drawn, expected = panel.evaluate(middle)
    assert drawn == pytest.approx(expected)
    panel.get_by_role("button", name="All").click()
    wait_until(lambda: panel.evaluate(kind) == [64])
    panel.get_by_role("button", name="Top 8").click()
    wait_until(lambda: panel.evaluate(kind) == [8])
    expect(panel.locator(".legend li")).to_have_count(8)


def test_partial_reason_is_shown_as_a_note(page: Page) -> None:
    note = page.locator("#panel-many .notes")
    expect(note.locator("summary")).to_have_text("1 note")
    expect(note.locator("li")).to_be_hidden()
    note.locator("summary").click()
    expect(note.locator("li")).to_have_text(ABSENT)


@pytest.mark.parametrize(
    ("panel", "expected"), [("broken", BROKEN), ("absent", ABSENT), ("dead", DEAD)]
)
def test_empty_panel_shows_its_reason(page: Page, panel: str, expected: str) -> None:
    message = page.locator(f"#panel-{panel} .panel-message")
    message.scroll_into_view_if_needed()
    expect(message).to_have_text(expected)
    expect(page.locator("#panel-stats .panel-message")).to_be_hidden()
    expect(page.locator("#banner")).to_be_hidden()


def test_missing_values_of_a_heat_map_are_hatched(page: Page) -> None:
    canvas = page.locator("#panel-gaps canvas")
    canvas.scroll_into_view_if_needed()
    # In the row with gaps, some pixels have a colour that is not on the scale.
    strange = """element => {
      const { plot, canvas } = element.panel.picture ?? {};
      if (!plot) return null;
      const pen = canvas.getContext('2d');
      const odd = (row) => {
        const y = Math.round(plot.top + (row + 0.5) * plot.row);
        const line = pen.getImageData(plot.left, y, plot.width, 1).data;
        let found = 0;
        // Cividis has never more blue than red and green together.
        for (let i = 0; i < line.length; i += 4)
          if (line[i] > 190 && line[i + 2] > 200) found += 1;
        return found / plot.width;
      };
      return [odd(0), odd(1)];
    }"""
    panel = page.locator("#panel-gaps")
    wait_until(lambda: panel.evaluate(strange))
    whole, holed = panel.evaluate(strange)
    assert whole == 0
    assert 0.3 < holed < 0.7


def test_table_sorts_numbers_by_value_and_empty_cells_last(page: Page) -> None:
    table = page.locator("#panel-table")
    table.scroll_into_view_if_needed()
    header = table.get_by_role("button", name="Memory size")

    def column(index: int) -> list[str]:
        return [row.locator("td").nth(index).inner_text() for row in rows.all()]

    rows = table.locator("tbody tr")
    expect(rows).to_have_count(3)
    header.click()
    assert column(1) == ["1 MiB", "3 GiB", ""]
    header.click()
    assert column(1) == ["3 GiB", "1 MiB", ""]
    table.get_by_role("button", name="Name").click()
    assert column(0) == ["b1", "b9", "b10"]
    assert column(2) == ["", "7", "0.6667"]


def test_bounded_value_is_marked_with_its_measurement(page: Page) -> None:
    wait_until(
        lambda: page.evaluate("document.querySelector('#panel-many').panel.loaded")
    )
    draw = """([times, bounded]) => {
      const { panel } = document.querySelector('#panel-many');
      const values = Array.from({ length: 64 }, () => [0.2, 0.5, 0.2]);
      panel.load({ times, values, step: 1, bounded });
      panel.draw([times[0], times[2]], true);
      const u = panel.picture.chart;
      const x = Math.round(u.valToPos(times[1], "x", true));
      return u.ctx.getImageData(x, u.bbox.top + 1, 1, 1).data.join();
    }"""
    now = int(time.time())
    times = [now - 2, now - 1, now]
    alone = page.evaluate(draw, [times, []])
    marked = page.evaluate(draw, [times, [[3, 1, 1.2]]])
    script = "document.querySelector('#panel-many').panel.frame.measured(3, 1)"
    assert page.evaluate(script) == 1.2
    assert alone != marked
