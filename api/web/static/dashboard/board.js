// All panels of a dashboard in their sections, drawn when they can be seen.

import { Panel } from "./panel.js";
import { made } from "./shell.js";

/** The board; `context` as for panels. */
export class Board {
  constructor(place, spec, context) {
    this.panels = new Map();
    this.range = [0, 1];
    this.waiting = false;
    this.context = { ...context, redraw: () => this.redraw() };
    this.seen = new IntersectionObserver((entries) => this._seen(entries), {
      rootMargin: "160px",
    });
    this.sized = new ResizeObserver((entries) => this._sized(entries));
    this.onSeen = () => {};
    addEventListener("beforeprint", () => this._draw(true));
    this.sections = spec.sections.map((section) => this._section(section));
    place.append(...this.sections);
    for (const change of ["themechange", "zonechange"]) {
      document.addEventListener(change, () => {
        for (const panel of this.panels.values()) panel.restyle();
      });
    }
  }

  /** Draw, with the next frame of the screen, all panels that changed. */
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this._draw();
    });
  }

  /** Show another range of time. */
  show(range) {
    this.range = range;
    for (const panel of this.panels.values()) panel.dirty = true;
    this.redraw();
  }

  /** Show only the series of these instances, where panels can; null shows all. */
  narrow(instances) {
    for (const panel of this.panels.values()) panel.narrow(instances);
    for (const section of this.sections) {
      const panels = [...section.querySelectorAll(".panel")];
      section.hidden = panels.every((panel) => panel.hidden);
    }
    this.redraw();
  }

  /** `all`: also panels that are not visible. */
  _draw(all = false) {
    for (const [id, panel] of this.panels) {
      const took = panel.draw(this.range, all);
      if (took) measured(id, took);
    }
    if (!all) this._drawRest();
  }

  /** Draw each panel that was never visible once, one at a time, for captures. */
  _drawRest() {
    if (this.resting) return;
    const rest = [...this.panels.values()].find((panel) => panel.waits);
    if (!rest) return;
    this.resting = true;
    const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
    idle(() => {
      this.resting = false;
      rest.begun = true;
      if (!rest.loaded) this.onSeen(rest);
      rest.draw(this.range, true);
      this._drawRest();
    });
  }

  _section(section) {
    const details = made("details", "board-section");
    details.open = true;
    const summary = details.appendChild(made("summary"));
    summary.append(made("h2", "", section.title));
    if (section.component) {
      const link = this.context.links.link(
        { label: "component", component: section.component },
        "section-link",
      );
      link.setAttribute("aria-label", `${section.title}: component`);
      summary.append(link);
    }
    const grid = details.appendChild(made("div", "grid"));
    grid.append(...section.panels.map((panel) => this._panel(panel)));
    return details;
  }

  _panel(spec) {
    const panel = new Panel(spec, this.context);
    this.panels.set(spec.id, panel);
    panel.element.panel = panel;
    panel.shell.body.panel = panel;
    this.seen.observe(panel.element);
    this.sized.observe(panel.shell.body);
    return panel.element;
  }

  _seen(entries) {
    for (const { target, isIntersecting } of entries) {
      target.panel.visible = isIntersecting;
      if (isIntersecting) this.onSeen(target.panel);
    }
    this.redraw();
  }

  _sized(entries) {
    for (const { target } of entries) target.panel.resize();
  }
}

/** The last drawing of each panel, and the first of all, for measurements. */
function measured(id, took) {
  const name = `redraw:${id}`;
  performance.clearMeasures(name);
  performance.measure(name, { start: performance.now() - took, duration: took });
  if (performance.getEntriesByName("first-picture").length) return;
  performance.measure("first-picture");
  performance.mark("first-picture");
}
