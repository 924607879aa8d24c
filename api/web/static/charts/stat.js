// Single values, each with the shape of its recent past.

import { drawSpark } from "./spark.js";
import { formatValue } from "./units.js";

/** Tiles, one per series: the last value, its name, and a small line behind. */
export class Stat {
  constructor(body, panel, context) {
    Object.assign(this, { body, panel, context });
    this.shown = panel.series.map((_, i) => i);
    this.list = body.appendChild(document.createElement("ul"));
    this.list.className = "stats";
    this.tiles = panel.series.map((series) => this._tile(series));
  }

  update(frame, range) {
    Object.assign(this, { frame, range });
    const shown = new Set(this.shown);
    this.tiles.forEach((tile, i) => {
      tile.item.hidden = !shown.has(i);
      if (shown.has(i)) this._fill(tile, i);
    });
  }

  highlight() {}

  resize() {
    this.restyle();
  }

  restyle() {
    if (this.frame) this.update(this.frame, this.range);
  }

  destroy() {
    this.list.remove();
  }

  _tile(series) {
    const item = this.list.appendChild(document.createElement("li"));
    const spark = item.appendChild(document.createElement("canvas"));
    spark.setAttribute("aria-hidden", "true");
    const value = item.appendChild(document.createElement("span"));
    value.className = "stat-value";
    item.append(this.context.link(series, "stat-label"));
    return { item, spark, value };
  }

  _fill({ spark, value }, i) {
    const text = formatValue(this.frame.last(i), this.panel.unit);
    if (value.textContent !== text) value.textContent = text;
    drawSpark(spark, this.frame.times, this.frame.values[i], this.range);
  }
}
