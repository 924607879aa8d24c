"""Dashboards: generated for a large host, and drawn in a browser."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import Browser, Page

from bench.table import Figure
from core.stores.endpoint import Endpoint
from core.stores.results import TermRows
from dashboards.build import BoundQuery, build, run
from dashboards.catalogue import load_dashboards
from dashboards.grafana import render
from tests.browser import chromium, watched_page
from tests.dashboards.synthetic import big_host
from tests.stack import HOST, Stack

BIG = "big-live"
ROUNDS = 7
SERIES, POINTS = 128, 1000

# 128 series in a chart of the page and in plain uPlot; fails if the chart stays empty.
# Noise that crosses the whole chart at each point is the worst case.
_REDRAW = """async ([series, points, rounds, step]) => {
  const { Lines } = await import("/static/charts/lines.js");
  const { Frame } = await import("/static/charts/frame.js");
  const { default: uPlot } = await import("/static/lib/uPlot.esm.js");
  const box = () => document.body.appendChild(Object.assign(
    document.createElement("div"), { style: "width: 1200px; height: 400px" }));
  const panel = { series: Array.from({ length: series }, (_, i) => (
    { label: `thread ${i}`, component: "", group: "" })), unit: null,
    minimum: 0, maximum: 1, stack: false };
  const chart = new Lines(box(), panel, {});
  const line = (s) => ({ label: s.label, stroke: "#0072b2", points: { show: false } });
  const bare = new uPlot({ width: 1200, height: 400, legend: { show: false },
    series: [{}, ...panel.series.map(line)] }, null, box());
  const times = Array.from({ length: points }, (_, i) => 1.8e9 + i);
  const range = [times[0], times[points - 1]];
  const make = () => {
    const frame = new Frame(series);
    frame.load({ times, step: 1, values: panel.series.map(() => {
      let at = Math.random();
      return Array.from({ length: points }, () =>
        at = Math.abs((at + step * (Math.random() - 0.5)) % 1));
    }) });
    return frame;
  };
  const timed = async (draw, plot) => {
    const start = performance.now();
    draw();
    await new Promise((done) => queueMicrotask(done));
    plot().ctx.getImageData(0, 0, 1, 1);  // waits until it is rastered
    return performance.now() - start;
  };
  const ours = [], alone = [];
  for (let round = 0; round < rounds; round++) {
    const frame = make();
    const arrays = [frame.times, ...frame.values];
    ours.push(await timed(() => chart.update(frame, range), () => chart.chart));
    alone.push(await timed(() => bare.setData(arrays), () => bare));
    await new Promise(requestAnimationFrame);
  }
  const { ctx } = chart.chart;
  const drawn = ctx.getImageData(ctx.canvas.width / 2, ctx.canvas.height / 2, 1, 1);
  if (!drawn.data[3]) throw new Error("the chart is empty");
  return [ours, alone];
}"""

# The page's content security policy forbids Playwright's polling.
_MARKED = """(name) => new Promise((found) => {
  new PerformanceObserver((list) => {
    const entry = list.getEntriesByName(name, "mark")[0];
    if (entry) found(entry.startTime);
  }).observe({ type: "mark", buffered: true });
})"""


def dashboard_figures(stack: Stack) -> Iterator[Figure]:
    """Generation compared with its saved queries; pages in headless Chromium."""
    big_host(stack.fuseki, stack.store, stack.base, BIG)
    with Endpoint(f"{stack.fuseki}/twin") as endpoint:
        yield _generation(endpoint, stack.base)
    with chromium() as browser:
        for host, what in ((HOST, "this machine"), (BIG, "128 threads")):
            yield _first_picture(browser, stack, host, what)
        yield _redraw(browser, stack, "random walks", 0.1)
        yield _redraw(browser, stack, "noise", 2.0)


def _generation(endpoint: Endpoint, base: str) -> Figure:
    """All dashboards of a host, from the queries to Grafana's JSON."""
    asking: list[float] = []

    def ask(question: BoundQuery) -> TermRows:
        started = time.perf_counter()
        rows = endpoint.select(question.sparql)
        asking[-1] += time.perf_counter() - started
        return rows

    def generate() -> None:
        asking.append(0.0)
        for name in load_dashboards():
            render(run(build(name, BIG, base), ask))

    whole = [_seconds(generate) for _ in range(ROUNDS)]
    return Figure(
        "all dashboards of a 128-thread host generated",
        statistics.median(whole),
        "s",
        1,
        statistics.median(asking),
        "their SPARQL queries alone, one by one",
    )


def _first_picture(browser: Browser, stack: Stack, host: str, what: str) -> Figure:
    """From navigation to the first panel with live points, with an empty cache."""
    address = f"{stack.base}/dashboards/monitor?host={host}"
    drawn, loaded = [], []
    for _ in range(ROUNDS):
        with watched_page(browser, stack.base) as watched:
            page = watched.page
            page.goto(address)
            drawn.append(_mark(page, "first-picture"))
            loaded.append(_navigation(page, "domInteractive"))
            watched.check()
    return Figure(
        f"Monitor of {what}: first live picture after navigation",
        statistics.median(drawn) / 1000,
        "s",
        1,
        statistics.median(loaded) / 1000,
        "the page's HTML fetched and parsed, which its spec is part of",
    )


def _redraw(browser: Browser, stack: Stack, what: str, step: float) -> Figure:
    """``step`` is the width of the random step from one point to the next."""
    with watched_page(browser, stack.base) as watched:
        watched.page.goto(f"{stack.base}/dashboards")
        ours, alone = watched.page.evaluate(_REDRAW, [SERIES, POINTS, 3 * ROUNDS, step])
    return Figure(
        f"{SERIES} series x {POINTS} points redrawn, {what}",
        statistics.median(ours),
        "ms",
        100,
        statistics.median(alone),
        "uPlot alone with the same points",
    )


def _mark(page: Page, name: str) -> float:
    """Wait for a mark; return the milliseconds from navigation to it."""
    at: Any = page.evaluate(_MARKED, name)
    return float(at)


def _navigation(page: Page, moment: str) -> float:
    found: Any = page.evaluate(
        f"performance.getEntriesByType('navigation')[0].{moment}"
    )
    return float(found)


def _seconds(action: Callable[[], None]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
