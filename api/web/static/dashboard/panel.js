// One panel: it keeps its points always, and draws them while it can be seen.

import { Bars } from "../charts/bars.js";
import { Frame } from "../charts/frame.js";
import { Heatmap } from "../charts/heatmap.js";
import { Legend } from "../charts/legend.js";
import { Lines } from "../charts/lines.js";
import { modesFor } from "../charts/lines_data.js";
import { Roofline } from "../charts/roofline.js";
import { Stat } from "../charts/stat.js";
import { Table } from "../charts/table.js";
import { choice, listed, notes, panelShell } from "./shell.js";

const PICTURES = { timeseries: Lines, heatmap: Heatmap, stat: Stat, bars: Bars };
const NOTHING = ["No values in this range of time."];

/** A panel of the page; `context` gives links, the zoom and the address of queries. */
export class Panel {
  constructor(panel, context) {
    Object.assign(this, { panel, context, visible: false, dirty: true, why: [] });
    this.begun = false;
    this.frame = new Frame(panel.series.length);
    this.shown = panel.series.map((_, i) => i);
    this.loaded = false;
    this.shell = panelShell(panel, context.query(panel));
    this.element = this.shell.root;
    if (panel.why.length && this._hasContent()) this.shell.tools.prepend(notes(panel.why));
    this._modes();
    this._still();
  }

  /** Whether it shows series, and so gets points. */
  get drawsSeries() {
    return !this.panel.problem && this.panel.series.length > 0;
  }

  /** A whole window of points, or the reason why there is none. */
  load(window) {
    this.frame.load(window);
    this.why = window.why ?? [];
    this._say(window.problem ? [window.problem] : []);
    this.loaded = true;
    this.dirty = true;
  }

  /** One more point of each series. */
  append(time, values, span, bounded) {
    this.frame.append(time, values, span, bounded);
    this.dirty = true;
  }

  /** Show only the series of these instances; null shows all. */
  narrow(instances) {
    const kept = instances && this.panel.narrows ? new Set(instances) : null;
    this.shown = this.panel.series
      .map((_, i) => i)
      .filter((i) => !kept || kept.has(this.panel.series[i].instname));
    this.element.hidden = Boolean(kept) && !this.shown.length;
    this._modes();
    this.dirty = true;
  }

  /** Whether it has something to show, and was not drawn yet. */
  get waits() {
    return !this.begun && this._hasContent() && (this.loaded || !this.context.isLive());
  }

  /** Draw what has changed, if it is seen; gives the milliseconds that points took. */
  draw(range, unseen = false) {
    if (!(this.visible || unseen) || !this.dirty || !this._hasContent()) return 0;
    this.begun ||= this.loaded;
    this.dirty = false;
    const start = performance.now();
    this.picture ??= this._picture();
    Object.assign(this.picture, { shown: this.shown, mode: this.mode });
    if (!this.drawsSeries || !this.loaded || !this._filled()) return 0;
    this._draw(range);
    return performance.now() - start;
  }

  /** After the size of the panel, or the theme, has changed. */
  resize() {
    this.picture?.resize();
  }

  restyle() {
    this.picture?.restyle();
    if (this.legend && this.picture?.drawn) this.legend.update(this.picture, this.frame);
  }

  _draw(range) {
    this.picture.update(this.frame, range);
    if (!this.shell.legend) return;
    this.legend ??= new Legend(this.shell.legend, this.panel, this.context.links);
    this.legend.update(this.picture, this.frame);
  }

  _picture() {
    const { panel, shell, context } = this;
    if (panel.picture === "roofline") return new Roofline(shell.body, panel, context.links);
    if (panel.table) return new Table(shell.body, panel, context.links);
    const made = new PICTURES[panel.picture](shell.body, panel, context.pictures);
    made.shown = this.shown;
    return made;
  }

  /** Show the reason in place of the chart if there is nothing to draw. */
  _filled() {
    const filled = this.frame.filled(this.shown);
    const reasons = [...this.why, ...this.panel.why];
    this._say(filled ? [] : reasons.length ? reasons : NOTHING);
    this.shell.root.classList.toggle("empty", !filled);
    return filled;
  }

  _hasContent() {
    const { problem, series, table } = this.panel;
    return !problem && (series.length > 0 || (table?.rows.length ?? 0) > 0);
  }

  /** The reasons known without points: a query that failed, or found nothing. */
  _still() {
    const { problem, why } = this.panel;
    this.shell.root.classList.toggle("failed", Boolean(problem));
    if (problem) this._say([problem]);
    else if (!this._hasContent()) this._say(why.length ? why : ["Nothing was found."]);
  }

  _say(lines) {
    const { message } = this.shell;
    const text = lines.join("\n");
    message.hidden = !text;
    if (this.message === text) return;
    this.message = text;
    message.replaceChildren(listed(lines));
  }

  /** How lines are shown: a choice where there are many. */
  _modes() {
    if (this.panel.picture !== "timeseries") return;
    const modes = modesFor(this.panel, this.shown.length);
    if (modes.join() === this.modes?.join()) return;
    [this.modes, this.mode] = [modes, modes[0]];
    this.choice?.remove();
    if (modes.length < 2) return;
    const names = { band: "Range", lines: "All", top: "Top 8" };
    const labels = modes.map((mode) => names[mode]);
    this.choice = choice("Lines shown", labels, labels[0], (label) => {
      this.mode = modes[labels.indexOf(label)];
      this.dirty = true;
      this.context.redraw();
    });
    this.shell.tools.prepend(this.choice);
  }
}
