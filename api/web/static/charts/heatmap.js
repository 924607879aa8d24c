// Rows of components over time, each value a colour; what is missing is hatched.

import { colours } from "./colours.js";
import { follow, point } from "./cursor.js";
import { cells, fixedLimits } from "./heatmap_cells.js";
import { drawAxes, drawScale, hatch, margins } from "./heatmap_axes.js";
import { formatTime } from "./times.js";
import { hideTooltip, showTooltip } from "./tooltip.js";
import { formatMeasured } from "./units.js";

/** One heat map; rows are in the order of the panel's series. */
export class Heatmap {
  constructor(body, panel, context) {
    Object.assign(this, { body, panel, context, pointed: null });
    this.shown = panel.series.map((_, i) => i);
    this.canvas = body.appendChild(document.createElement("canvas"));
    this.canvas.className = "heatmap";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.mark = body.appendChild(document.createElement("div"));
    this.mark.className = "mark";
    this.mark.hidden = true;
    this._unfollow = follow((time, from) => from !== this && this._markTime(time));
    this._listen();
  }

  update(frame, range) {
    Object.assign(this, { frame, range });
    this._draw();
  }

  highlight() {}

  resize() {
    if (this.frame) this._draw();
  }

  restyle() {
    this.resize();
  }

  destroy() {
    this._unfollow();
    this.canvas.remove();
    this.mark.remove();
  }

  _draw() {
    const { clientWidth: width, clientHeight: height } = this.body;
    if (!width || !height || !this.shown.length) return;
    const ratio = devicePixelRatio;
    const { canvas } = this;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    this.plot = this._place(pen, width, height);
    this.limits = fixedLimits(this.panel, this.frame, this.shown);
    this._label();
    this._cells(pen, ratio);
    drawAxes(pen, this);
    drawScale(pen, this, width);
  }

  /** The positions of the cells; each row has a whole number of pixels if possible. */
  _place(pen, width, height) {
    const edge = margins(pen, this);
    const room = height - edge.top - edge.bottom;
    const each = room / this.shown.length;
    const row = each >= 10 ? Math.floor(each) : each;
    return {
      left: edge.left,
      top: edge.top,
      width: Math.max(10, width - edge.left - edge.right),
      height: row * this.shown.length,
      row,
    };
  }

  _cells(pen, ratio) {
    const { left, top, width, height } = this.plot;
    pen.fillStyle = hatch(pen);
    pen.fillRect(left, top, width, height);
    const columns = Math.round(width * ratio);
    const image = cells(this, columns);
    const picture = new OffscreenCanvas(columns, this.shown.length);
    picture.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, left, top, width, height);
    this._separators(pen);
  }

  /** Lines between groups, where rows are tall enough to spare one. */
  _separators(pen) {
    const { left, top, width, row } = this.plot;
    pen.fillStyle = colours().panel;
    const thick = row >= 12 ? 2 : 1;
    this.shown.forEach((series, at) => {
      const before = this.shown[at - 1];
      if (!at || row < 4) return;
      if (this.panel.series[before].group === this.panel.series[series].group) return;
      pen.fillRect(left, top + at * row - thick / 2, width, thick);
    });
  }

  _label() {
    const count = this.shown.length;
    this.canvas.setAttribute(
      "aria-label",
      `${this.panel.title}: heat map of ${count} rows; arrow keys read it, Enter opens`,
    );
  }

  _listen() {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this._hover(event));
    canvas.addEventListener("pointerleave", () => this._leave());
    canvas.addEventListener("blur", () => this._leave());
    canvas.addEventListener("click", (event) => {
      const found = this._under(event);
      if (found) this._open(found.series);
    });
    canvas.addEventListener("keydown", (event) => this._key(event));
  }

  _under(event) {
    if (!this.plot) return null;
    const { left, top } = this.canvas.getBoundingClientRect();
    const x = event.clientX - left - this.plot.left;
    const y = event.clientY - top - this.plot.top;
    const row = Math.floor(y / this.plot.row);
    const inside = x >= 0 && x < this.plot.width && y >= 0 && row < this.shown.length;
    if (!inside) return null;
    const [from, to] = this.range;
    const time = from + ((to - from) * x) / this.plot.width;
    return { row, series: this.panel.series[this.shown[row]], time };
  }

  _hover(event) {
    const found = this._under(event);
    this.canvas.style.cursor = found ? "pointer" : "";
    if (!found) {
      this._leave();
      return;
    }
    this._show(found, event.clientX, event.clientY);
  }

  _show({ row, series, time }, x, y) {
    const at = this.frame.nearest(time);
    const value = at < 0 ? NaN : this.frame.values[this.shown[row]][at];
    const missing = Number.isNaN(value);
    const measured = this.frame.measured(this.shown[row], at);
    const text = missing ? "no data" : formatMeasured(value, measured, this.panel.unit);
    const lines = [{ label: series.label, value: text, strong: true }];
    showTooltip(formatTime(at < 0 ? time : this.frame.times[at]), lines, x, y, series.group);
    this._markTime(time);
    point(time, this);
  }

  _leave() {
    hideTooltip();
    this._markTime(null);
    point(null, this);
    this.pointed = null;
  }

  _open(series) {
    const href = this.context.href(series.component);
    if (href) location.assign(href);
  }

  _key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key === "Enter" && this.pointed) this._open(this.pointed.series);
    const move = moves[event.key];
    if (!move || !this.frame?.length) return;
    event.preventDefault();
    this._step(...move);
  }

  _step(down, right) {
    const { times, length } = this.frame;
    const old = this.pointed ?? { row: -down, at: length - 1 - right };
    const row = clamp(old.row + down, this.shown.length - 1);
    const at = clamp(old.at + right, length - 1);
    const series = this.panel.series[this.shown[row]];
    const [from, to] = this.range;
    const { left, top } = this.canvas.getBoundingClientRect();
    const x = left + this.plot.left + ((times[at] - from) / (to - from)) * this.plot.width;
    const y = top + this.plot.top + (row + 0.5) * this.plot.row;
    this._show({ row, series, time: times[at] }, x, y);
    this.pointed = { row, at, series };
  }

  _markTime(time) {
    const [from, to] = this.range ?? [0, 0];
    const inside = time !== null && this.plot && time >= from && time <= to;
    this.mark.hidden = !inside;
    if (!inside) return;
    const { left, top, width, height } = this.plot;
    const x = left + ((time - from) / (to - from)) * width;
    this.mark.style.transform = `translate(${Math.round(x)}px, ${top}px)`;
    this.mark.style.height = `${height}px`;
  }
}

function clamp(value, most) {
  return Math.max(0, Math.min(most, value));
}
