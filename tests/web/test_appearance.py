"""Pages are readable, keep their layout and follow the chosen theme."""

import re
import time

import pytest
from playwright.sync_api import expect

from tests.servers import wait_until
from tests.web.conftest import Open
from tests.web.site import BIG
from tests.web.test_dashboard import MONITOR, state, wait_for_points

_SHIFT = """() => new Promise((resolve) => {
  let sum = 0;
  const watch = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) sum += entry.value;
  });
  watch.observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(sum), 200);
})"""

# WCAG 2.2, 1.4.3: text that is not large needs a contrast of 4.5 to 1.
CONTRAST = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = channels(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0.99) return found;
    }
    return [255, 255, 255];
  };
  const weak = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (element.closest('script, noscript, option')) continue;
    const [a, b] = [channels(getComputedStyle(element).color), behind(element)]
      .map(light).sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) weak.push([walker.currentNode.textContent.trim(), ratio]);
  }
  return weak;
}"""


SERIES = f"/twin/{BIG}/telemetry/kernel.percpu.cpu.user/cpu3"


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/?view=table", MONITOR, "/dashboards", "/dashboards/inventory"),
        *("/api", "/docs/web.md", SERIES),
    ],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_and_nothing_overflows(
    visit: Open, path: str, scheme: str
) -> None:
    page = visit(path, scheme).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    weak = page.evaluate(CONTRAST)
    assert not weak, weak
    backdrop = page.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(int(part) for part in re.findall(r"\d+", backdrop)) / 3
    assert (bright > 200) if scheme == "light" else (bright < 60)


@pytest.mark.parametrize(
    "path",
    ["/", "/api", "/docs/README.md", "/docs/api.md", SERIES, "/metric/mem.util.free"],
)
def test_narrow_windows_scroll_down_only(visit: Open, path: str) -> None:
    page = visit("/").page
    page.set_viewport_size({"width": 420, "height": 800})
    page.goto(page.url.rstrip("/") + path)
    page.wait_for_load_state("networkidle" if "/docs" in path else "load")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


@pytest.mark.parametrize("path", ["/", MONITOR])
def test_layout_is_stable_while_the_page_loads(visit: Open, path: str) -> None:
    page = visit(path).page
    time.sleep(2)
    shift = page.evaluate(_SHIFT)
    # The usual limit for a good layout shift.
    assert shift < 0.1


def test_chosen_theme_is_kept(visit: Open) -> None:
    page = visit("/").page
    page.locator("input[name=theme][value=dark]").check(force=True)
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")


def test_hidden_panels_are_printed_with_their_last_points(visit: Open) -> None:
    page = visit(MONITOR).page
    wait_for_points(page)
    last = page.locator(".draws-timeseries").last
    expect(last.locator("canvas").first).to_be_attached()
    is_dirty = "element => element.panel.dirty"
    wait_until(lambda: last.evaluate(is_dirty), what="points that are not drawn")
    page.keyboard.press("Space")
    expect(state(page)).to_have_text("Paused")
    page.pdf()
    assert not last.evaluate(is_dirty)
