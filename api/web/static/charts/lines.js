// Lines over time, drawn by uPlot from typed arrays.

import uPlot from "../lib/uPlot.esm.js";
import { colours, seriesColour, tint } from "./colours.js";
import { follow, point } from "./cursor.js";
import { drawn, extent } from "./lines_data.js";
import { areaPath, boundedPath, linePath } from "./lines_path.js";
import { lineTooltip } from "./lines_tooltip.js";
import { SINCE_STEPS, chosenZone, formatSince, formatTick } from "./times.js";
import { hideTooltip } from "./tooltip.js";
import { formatTicks, tickSteps } from "./units.js";

const MANY = 16;
const AXIS_FONT = "11px system-ui, sans-serif";

/**
 * One chart of lines; `mode` is one of lines_data's. The times of a panel that is
 * `elapsed` are seconds since a start.
 */
export class Lines {
  constructor(body, panel, context) {
    this.panel = panel;
    this.context = context;
    this.body = body;
    this.shown = panel.series.map((_, i) => i);
    this.mode = "lines";
    this.key = "";
    this.highlighted = null;
    this._unfollow = follow((time, from) => this._pointAt(time, from));
  }

  /** Draw a frame over a range of time, in seconds. */
  update(frame, range) {
    this.frame = frame;
    this.range = range;
    this.drawn = drawn(frame, this.shown, this.mode);
    const key = `${this.mode}/${this.drawn.of.join()}`;
    if (key !== this.key || !this.chart) this._build(key);
    const [min, max] = range;
    this.chart.batch(() => {
      this.chart.setData([frame.times, ...this.drawn.arrays], false);
      this.chart.setScale("x", { min, max });
    });
    this._overlay();
  }

  /** Bring one series forward; null none. */
  highlight(index) {
    if (index === this.highlighted) return;
    this.highlighted = index;
    this._overlay();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.body;
    if (!this.chart || !width || !height) return;
    this.chart.setSize({ width, height });
    this._overlay();
  }

  restyle() {
    // With the axes, whose times may be in another zone by now.
    this.chart?.redraw(false, true);
    this._overlay();
  }

  destroy() {
    this._unfollow();
    this.chart?.destroy();
    this.chart = null;
  }

  /** The colour of a series of the panel, as it is drawn now. */
  colour(index) {
    return seriesColour(this.shown.indexOf(index));
  }

  _build(key) {
    this.key = key;
    this.chart?.destroy();
    const { clientWidth: width, clientHeight: height } = this.body;
    const chart = new uPlot(this._options(width, height), null, this.body);
    this.chart = chart;
    this.overlay = document.createElement("canvas");
    this.overlay.className = "overlay";
    chart.ctx.canvas.after(this.overlay);
    this.pointed = false;
    chart.over.addEventListener("pointerenter", () => {
      this.pointed = true;
    });
    chart.over.addEventListener("pointerleave", () => this._leave());
  }

  _options(width, height) {
    return {
      width,
      height,
      legend: { show: false },
      tzDate: inZone,
      padding: [8, 8, 0, 0],
      scales: {
        x: { time: !this.panel.elapsed, auto: false },
        // Without auto, uPlot would request the range only once.
        y: { auto: true, range: () => this._limits() },
      },
      axes: [timeAxis(this.panel.elapsed), this._valueAxis()],
      series: [{}, ...this.drawn.arrays.map((_, i) => this._series(i))],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
      },
      hooks: {
        draw: [(u) => this._markBounded(u)],
        setCursor: [(u) => this._hover(u)],
        setSelect: [(u) => this._zoom(u)],
      },
    };
  }

  _valueAxis() {
    const { unit } = this.panel;
    return axis({
      size: 68,
      space: 28,
      incrs: tickSteps(unit),
      values: (_u, splits) => formatTicks(splits, unit),
    });
  }

  _series(at) {
    const { kind, of } = this.drawn;
    // Lines of one pixel without dashes, on the pixels, are drawn fastest by far.
    const many = kind === "band" || of.length > MANY;
    const base = {
      auto: false,
      pxAlign: many ? 1 : 0,
      points: { show: false },
      stroke: () => this._stroke(at),
      width: many ? 1 / devicePixelRatio : 1.5,
      paths: (u, index) => ({ stroke: this._line(u, index), fill: this._area(u, index) }),
    };
    const filled = kind === "stack" || (kind === "band" && at === 0);
    if (filled) base.fill = () => this._fill(at);
    if (!many && kind === "lines" && at >= 8) base.dash = [5, 3];
    return base;
  }

  _stroke(at) {
    if (this.drawn.kind !== "band") return this.colour(this.drawn.of[at]);
    const { series } = colours();
    return [tint(series[0], 0.65), tint(series[0], 0.65), series[3]][at];
  }

  _fill(at) {
    if (this.drawn.kind === "band") return tint(colours().series[0], 0.22);
    return tint(this.colour(this.drawn.of[at]), 0.45);
  }

  _line(u, index) {
    return linePath(u, index, this.frame.step);
  }

  _area(u, index) {
    if (this.drawn.kind === "stack") return areaPath(u, index, null, this.frame.step);
    if (this.drawn.kind === "band" && index === 1) return areaPath(u, 1, 2, this.frame.step);
    return null;
  }

  _markBounded(u) {
    if (!this.frame) return;
    u.ctx.fillStyle = colours().text;
    u.ctx.fill(boundedPath(u, this.frame.boundedTimes(this.shown)));
  }

  /** The value axis: the panel's limits, widened by values beyond them. */
  _limits() {
    const { minimum, maximum } = this.panel;
    const [low, high] = extent(this.drawn.arrays);
    if (Number.isNaN(low)) return [minimum ?? 0, maximum ?? 1];
    const flat = low >= 0 && (low < high * 0.7 || low === high) ? 0 : low;
    const wide = uPlot.rangeNum(flat, high > flat ? high : flat + 1, 0.08, true);
    const from = flat === 0 && low >= 0 ? 0 : wide[0];
    return [
      minimum === null ? from : Math.min(minimum, low),
      maximum === null ? wide[1] : Math.max(maximum, high),
    ];
  }

  _zoom(u) {
    const { left, width } = u.select;
    if (width < 4) return;
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    const range = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    // The mark stands for a time of the range that is left.
    this._leave();
    u.setCursor({ left: -10, top: -10 });
    this.context.zoom(...range);
  }

  _hover(u) {
    // The mark of another picture is a cursor too, and moves with every new point.
    if (!this.pointed || !this.frame) return;
    const { left, top, idx } = u.cursor;
    if (left === undefined || left < 0 || idx === null || idx === undefined) return;
    point(u.posToVal(left, "x"), this);
    this.highlight(lineTooltip(this, u, idx, left, top));
  }

  _leave() {
    this.pointed = false;
    hideTooltip();
    this.highlight(null);
    point(null, this);
  }

  _pointAt(time, from) {
    if (from === this || !this.chart || !this.frame?.length) return;
    const left = time === null ? -10 : this.chart.valToPos(time, "x");
    this.chart.setCursor({ left, top: -10 });
  }

  /** The highlighted line again, thick, on a canvas of its own: the rest need not move. */
  _overlay() {
    if (!this.chart) return;
    const { canvas } = this.chart.ctx;
    const at = this.drawn.of.indexOf(this.highlighted);
    const { overlay } = this;
    overlay.hidden = at < 0;
    if (at < 0) return;
    overlay.width = canvas.width;
    overlay.height = canvas.height;
    const pen = overlay.getContext("2d");
    const { left, top, width, height } = this.chart.bbox;
    pen.rect(left, top, width, height);
    pen.clip();
    pen.globalAlpha = this.drawn.of.length > 1 ? 0.6 : 0;
    pen.fillStyle = colours().panel;
    pen.fillRect(left, top, width, height);
    pen.globalAlpha = 1;
    pen.lineWidth = 2.5 * devicePixelRatio;
    pen.lineJoin = "round";
    pen.strokeStyle = this._stroke(at);
    pen.stroke(this._line(this.chart, at + 1));
  }
}

/** A Date whose methods for the local zone read the zone that was chosen. */
function inZone(seconds) {
  const date = new Date(seconds * 1000);
  return chosenZone() === "utc" ? uPlot.tzDate(date, "Etc/UTC") : date;
}

/** Times of the clock, or those since a start. */
function timeAxis(elapsed) {
  const format = elapsed ? formatSince : formatTick;
  const values = (_u, splits) => splits.map((time) => format(time, splits[1] - splits[0]));
  return axis({ space: 70, size: 26, incrs: elapsed ? SINCE_STEPS : undefined, values });
}

function axis(options) {
  return {
    font: AXIS_FONT,
    stroke: () => colours().muted,
    grid: { stroke: () => colours().grid, width: 1 },
    ticks: { stroke: () => colours().grid, width: 1, size: 4 },
    gap: 4,
    ...options,
  };
}
