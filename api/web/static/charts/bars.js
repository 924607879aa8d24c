// The last values as bars with their numbers.

import { formatValue } from "./units.js";

/** Horizontal bars, one per series, on one scale. */
export class Bars {
  constructor(body, panel, context) {
    Object.assign(this, { body, panel, context });
    this.shown = panel.series.map((_, i) => i);
    this.list = body.appendChild(document.createElement("ul"));
    this.list.className = "bars";
    this.bars = panel.series.map((series) => this._bar(series));
  }

  update(frame, range) {
    Object.assign(this, { frame, range });
    const values = this.shown.map((i) => frame.last(i));
    const known = values.filter((value) => !Number.isNaN(value));
    const low = this.panel.minimum ?? Math.min(0, ...known);
    const high = this.panel.maximum ?? Math.max(low, ...known);
    const shown = new Set(this.shown);
    this.bars.forEach((bar, i) => {
      bar.item.hidden = !shown.has(i);
      if (shown.has(i)) this._fill(bar, frame.last(i), low, high);
    });
  }

  highlight() {}

  resize() {}

  restyle() {}

  destroy() {
    this.list.remove();
  }

  _bar(series) {
    const item = this.list.appendChild(document.createElement("li"));
    item.append(this.context.link(series, "bar-label"));
    const track = item.appendChild(document.createElement("span"));
    track.className = "bar-track";
    const bar = track.appendChild(document.createElement("span"));
    const value = item.appendChild(document.createElement("span"));
    value.className = "bar-value";
    return { item, bar, value };
  }

  _fill({ bar, value }, number, low, high) {
    const part = Number.isNaN(number) || high <= low ? 0 : (number - low) / (high - low);
    bar.style.transform = `scaleX(${Math.max(0, Math.min(1, part))})`;
    value.textContent = formatValue(number, this.panel.unit);
  }
}
