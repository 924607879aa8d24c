// The toolbar: host, component, range of time, pause, and state.

import { fieldOf, ofField } from "../charts/times.js";
import { PRESETS, readSpan, writeSpan } from "./range.js";

/**
 * Wires the controls that the page holds. `on` has the functions `host(name)`,
 * `component(id)`, `range(range)` and `pause()`. `since`: what the longest range begins at.
 */
export class Toolbar {
  constructor(root, on, since = 0) {
    Object.assign(this, { root, on, since });
    this.find = (name) => root.querySelector(`[data-control=${name}]`);
    this._selects();
    this._presets();
    this._absolute();
    this.pause = this.find("pause");
    this.pause.addEventListener("click", () => on.pause());
    document.addEventListener("keydown", (event) => this._key(event));
  }

  /** Show which range is chosen. */
  range(range) {
    for (const button of this.find("presets").children) {
      const same = button.value ? readSpan(button.value) === range.last : Boolean(range.since);
      button.setAttribute("aria-pressed", String(same));
    }
    const custom = this.find("custom");
    const listed = range.since || PRESETS.some((text) => readSpan(text) === range.last);
    custom.classList.toggle("chosen", !listed);
    const other = range.last ? writeSpan(range.last) : "From – to";
    const label = listed ? "Custom" : other;
    custom.querySelector("summary").textContent = label;
    this.pause.hidden = !(range.last || range.since);
  }

  /** Fill the fields of from and to with what is shown; `again`: even while they are used. */
  fill([from, to], again = false) {
    if (this.find("custom").open && !again) return;
    this.find("from").value = fieldOf(from);
    this.find("to").value = fieldOf(to);
  }

  /** Show the component that is chosen. */
  component(id) {
    const select = this.find("component");
    if (select) select.value = id;
  }

  /** Show whether it is live: `state` is live, paused, range, waiting or lost. */
  state(state, text) {
    const place = this.find("state");
    place.dataset.state = state;
    if (place.textContent !== text) place.textContent = text;
    const paused = state === "paused";
    this.pause.setAttribute("aria-pressed", String(paused));
    const label = paused ? "Resume" : "Pause";
    if (this.pause.textContent !== label) this.pause.textContent = label;
  }

  _selects() {
    const host = this.find("host");
    host?.addEventListener("change", () => this.on.host(host.value));
    const component = this.find("component");
    component?.addEventListener("change", () => this.on.component(component.value));
  }

  _presets() {
    if (this.since) this._preset("", "Whole run", { since: this.since });
    for (const text of PRESETS) this._preset(text, text, { last: readSpan(text) });
  }

  _preset(value, text, range) {
    const button = this.find("presets").appendChild(document.createElement("button"));
    Object.assign(button, { type: "button", value, textContent: text });
    button.addEventListener("click", () => this.on.range(range));
  }

  _absolute() {
    const custom = this.find("custom");
    custom.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      const [from, to] = ["from", "to"].map((name) => ofField(this.find(name).value));
      const wrong = !(to > from);
      this.find("to").setCustomValidity(wrong ? "The end must be after the start" : "");
      if (wrong) {
        this.find("to").reportValidity();
        return;
      }
      custom.open = false;
      this.on.range({ from, to });
    });
    this.find("to").addEventListener("input", (event) => event.target.setCustomValidity(""));
    custom.addEventListener("keydown", (event) => {
      if (event.key === "Escape") custom.open = false;
    });
  }

  /** The space bar pauses, except where it means something else. */
  _key(event) {
    if (event.key !== " " || this.pause.hidden) return;
    if (event.target.closest("button, a, input, select, summary, textarea")) return;
    event.preventDefault();
    this.on.pause();
  }
}
