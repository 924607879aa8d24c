// Charts of runs: as on dashboards, over the seconds since the start.

import { Board } from "../dashboard/board.js";
import { Links } from "../dashboard/links.js";
import { showProse } from "../prose.js";

/**
 * Draw the panels of the page's spec.
 * @param {object} spec with `base`, `sections` and `range`, seconds since the start
 * @param {(panel: object, range: number[]) => Promise<object>} windowOf the points of
 *   a panel, requested when it is visible, and again after a zoom
 * @param {(panel: object) => string} query the address of the query behind a panel
 */
export function drawCharts(spec, windowOf, query) {
  const root = document.documentElement.dataset.root;
  const at = (id) => document.getElementById(id);
  for (const section of spec.sections) for (const panel of section.panels) panel.elapsed = true;
  const links = new Links(spec.base, root, "");
  let range = spec.range;

  const board = new Board(at("board"), spec, {
    links,
    pictures: {
      href: (iri) => links.href(iri),
      link: (series, name) => links.link(series, name),
      zoom: (from, to) => show([from, to]),
    },
    query,
    isLive: () => false,
  });
  board.onSeen = (panel) => void load(panel);
  at("whole").addEventListener("click", () => show(spec.range));
  board.show(range);

  function show(next) {
    range = next;
    at("whole").hidden = range === spec.range;
    for (const panel of board.panels.values()) panel.loaded = false;
    board.show(range);
    for (const panel of board.panels.values()) if (panel.visible) void load(panel);
  }

  async function load(panel) {
    if (!panel.drawsSeries || panel.loaded || panel.requested === range) return;
    const requested = range;
    panel.requested = requested;
    try {
      const found = await windowOf(panel.panel, requested);
      if (requested !== range) return;
      panel.load(found);
      at("problem").hidden = true;
    } catch (error) {
      panel.requested = null;
      showProse(at("problem"), error.message);
      at("problem").hidden = false;
    }
    board.redraw();
  }
}
