// The names of the lines of a panel: links to the components, with their last values.

import { colours } from "./colours.js";
import { formatValue } from "./units.js";

const MANY = 16;

/** A legend below a chart of lines; more than a few entries are collapsed. */
export class Legend {
  constructor(place, panel, context) {
    Object.assign(this, { place, panel, context, entries: [], key: "" });
  }

  /** Bring the entries and their values up to date with a chart. */
  update(chart, frame) {
    const { of, kind } = chart.drawn;
    const listed = kind === "band" ? chart.shown : [...of].sort((a, b) => a - b);
    const key = `${kind}/${listed.join()}`;
    if (key !== this.key) this._build(chart, listed, key);
    for (const { index, swatch, value } of this.entries) {
      const colour = kind === "band" ? colours().line : chart.colour(index);
      if (swatch.style.background !== colour) swatch.style.background = colour;
      const text = formatValue(frame.last(index), this.panel.unit);
      if (value.textContent !== text) value.textContent = text;
    }
  }

  _build(chart, listed, key) {
    this.key = key;
    const list = document.createElement("ul");
    this.entries = listed.map((index) => this._entry(chart, index, list));
    const folded = listed.length > MANY;
    this.place.replaceChildren(folded ? this._folded(list) : list);
  }

  _folded(list) {
    const details = document.createElement("details");
    const summary = details.appendChild(document.createElement("summary"));
    summary.textContent = `${list.children.length} series`;
    details.append(list);
    return details;
  }

  _entry(chart, index, list) {
    const series = this.panel.series[index];
    const item = list.appendChild(document.createElement("li"));
    const swatch = item.appendChild(document.createElement("span"));
    swatch.className = "swatch";
    const link = item.appendChild(this.context.link(series, ""));
    const value = item.appendChild(document.createElement("span"));
    value.className = "legend-value";
    for (const [on, off] of [["pointerenter", "pointerleave"], ["focusin", "focusout"]]) {
      item.addEventListener(on, () => chart.highlight(index));
      item.addEventListener(off, () => chart.highlight(null));
    }
    return { index, swatch, value, link };
  }
}
