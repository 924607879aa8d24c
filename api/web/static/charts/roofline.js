// The roofline model of a host: lines of what limits it, and its runs as points.

import { figures, formatValue } from "./units.js";

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { left: 78, right: 14, top: 12, bottom: 40 };
// Names of peaks that are nearer to each other than this would overlap.
const LETTERS_PX = 13;
const LETTER_PX = 6.4;
const [POINTS, RADIUS] = [1000, 4.5];

/** Both axes are logarithmic; a point is a link to its run. */
export class Roofline {
  constructor(body, panel, links) {
    Object.assign(this, { body, links });
    const [x, y] = ["intensity", "limit"].map((name) => column(panel.table, name));
    this.unit = y.unit;
    this.lines = Map.groupBy(records(panel.table), (row) => row.name);
    this.points = panel.points ? records(panel.points).filter(isPoint).slice(0, POINTS) : [];
    const rows = [...panel.table.rows.map((row) => [row[x.index], row[y.index]])];
    rows.push(...this.points.map((row) => [row.intensity, row.rate]));
    this.ranges = [0, 1].map((at) => decades(rows.map((row) => row[at])));
    this.svg = body.appendChild(made("svg", { class: "roofline", role: "group" }));
    this.svg.setAttribute("aria-label", `${panel.title}: ${panel.description}`);
    this._draw();
  }

  update() {}

  highlight() {}

  /** Its colours are those of the style sheet. */
  restyle() {}

  resize() {
    this._draw();
  }

  destroy() {
    this.svg.remove();
  }

  _draw() {
    const { clientWidth: width, clientHeight: height } = this.body;
    if (!width || !height) return;
    const [left, right] = [MARGIN.left, width - MARGIN.right];
    const [top, bottom] = [MARGIN.top, height - MARGIN.bottom];
    this.box = { left, right, top, bottom };
    this.x = scale(this.ranges[0], left, right);
    this.y = scale(this.ranges[1], bottom, top);
    const shapes = [...this._grid(), ...this._limits(), ...this.points.map((row) => this._point(row))];
    this.svg.replaceChildren(...shapes);
  }

  *_grid() {
    const { left, right, top, bottom } = this.box;
    for (const value of powers(this.ranges[0])) {
      const at = this.x(value);
      yield line(at, top, at, bottom);
      yield label(at, bottom + 16, figures(value), "middle", "axis");
    }
    for (const value of powers(this.ranges[1])) {
      const at = this.y(value);
      yield line(left, at, right, at);
      yield label(left - 6, at + 4, formatValue(value, this.unit), "end", "axis");
    }
    yield label((left + right) / 2, bottom + 33, "operations per byte", "middle", "axis");
  }

  *_limits() {
    const lines = [...this.lines].map(([name, rows]) => ({ name, rows, isPeak: isFlat(rows) }));
    const roofs = lines.filter(({ isPeak }) => !isPeak);
    for (const [at, roof] of roofs.entries()) yield* this._roof(roof, (at + 1) / (roofs.length + 1));
    const peaks = lines.filter(({ isPeak }) => isPeak);
    let [above, left] = [-Infinity, this.box.right];
    for (const peak of peaks.sort((a, b) => b.rows[0].limit - a.rows[0].limit)) {
      const at = this.y(peak.rows[0].limit);
      // Names of peaks that are almost equal are side by side.
      const end = at - above < LETTERS_PX ? left - 12 : this.box.right - 4;
      [above, left] = [at, end - width(peak.name)];
      yield this._line(peak, "peak");
      yield label(end, at - 4, peak.name, "end");
    }
  }

  /** The names of roofs are at different places, so that those of equal roofs differ. */
  *_roof(roof, share) {
    const [[x1, y1], [x2, y2]] = this._ends(roof);
    yield this._line(roof, "roof");
    const [x, y] = [x1 + share * (x2 - x1), y1 + share * (y2 - y1)];
    const fits = x - width(roof.name) - 8 > this.box.left;
    yield fits ? label(x - 6, y - 5, roof.name, "end") : label(x + 8, y + 12, roof.name, "start");
  }

  _line({ name, rows }, kind) {
    const [[x1, y1], [x2, y2]] = this._ends({ rows });
    const found = line(x1, y1, x2, y2, kind);
    found.append(title(`${name}: up to ${formatValue(rows.at(-1).limit, this.unit)}`));
    return found;
  }

  _ends({ rows }) {
    return [rows[0], rows.at(-1)].map((row) => [this.x(row.intensity), this.y(row.limit)]);
  }

  _point(row) {
    const link = made("a", { href: this.links.href(row.run) });
    const place = { cx: this.x(row.intensity), cy: this.y(row.rate), r: RADIUS, class: row.kind };
    const circle = link.appendChild(made("circle", place));
    const rate = formatValue(row.rate, this.unit);
    circle.append(title(`${row.name}: ${figures(row.intensity)} operations per byte, ${rate}`));
    return link;
  }
}

function column(table, name) {
  const index = table.columns.findIndex((one) => one.name === name);
  return { ...table.columns[index], index };
}

function records({ columns, rows }) {
  return rows.map((row) => Object.fromEntries(columns.map(({ name }, i) => [name, row[i]])));
}

/** Logarithmic axes have no place for other values. */
function isPoint({ intensity, rate }) {
  return intensity > 0 && rate > 0;
}

function isFlat(rows) {
  return rows.every(({ limit }) => limit === rows[0].limit);
}

/** The exponents of ten around all values. */
function decades(values) {
  const logs = values.filter((value) => value > 0).map(Math.log10);
  return [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs) + 0.01)];
}

function powers([low, high]) {
  return Array.from({ length: high - low + 1 }, (_, i) => Number(`1e${low + i}`));
}

function scale([low, high], start, end) {
  return (value) => start + ((Math.log10(value) - low) / (high - low)) * (end - start);
}

function width(text) {
  return text.length * LETTER_PX;
}

function line(x1, y1, x2, y2, name = "") {
  return made("line", { x1, y1, x2, y2, class: name });
}

function label(x, y, text, anchor, name = "") {
  const element = made("text", { x, y, "text-anchor": anchor, class: name });
  element.textContent = text;
  return element;
}

function title(text) {
  const element = made("title", {});
  element.textContent = text;
  return element;
}

function made(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
