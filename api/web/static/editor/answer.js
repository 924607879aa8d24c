// The answer: a table, the raw text, or the error.

import { showProse } from "../prose.js";

/**
 * @param {object} Yasr the library's view of results
 * @param {HTMLElement} place
 * @param {{root: string, base: string, terms: object}} context
 */
export function makeAnswer(Yasr, place, { root, base, terms }) {
  const { table, boolean, response, error } = Yasr.defaults.plugins;
  watchLinks(place, root, base);
  return new Yasr(place, {
    persistenceId: null,
    prefixes: { ...terms.prefixes, twin: `${base}/twin/` },
    plugins: {
      table: { ...table, dynamicConfig: { ...table.dynamicConfig, compact: true } },
      boolean,
      response,
      error,
    },
    pluginOrder: ["table", "response"],
    defaultPlugin: "table",
    errorRenderers: [async (summary) => problem(summary)],
    getDownloadFileName: () => "supertwin",
  });
}

/** IRIs of the twin lead to the address that the browser uses. */
function watchLinks(place, root, base) {
  place.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link) return;
    const href = link.getAttribute("href");
    if (href.startsWith(`${base}/`)) link.setAttribute("href", root + href.slice(base.length));
    link.rel = "noreferrer";
  }, true);
}

/** A problem document as text; undefined leaves it to the library. */
function problem(summary) {
  const found = parsed(summary.text) ?? { title: "No answer", detail: summary.text };
  const box = document.createElement("div");
  box.className = "banner bad problem";
  box.setAttribute("role", "alert");
  const title = box.appendChild(document.createElement("strong"));
  title.textContent = found.title ?? "The query failed";
  const detail = box.appendChild(document.createElement("p"));
  showProse(detail, found.detail || "SuperTwin does not answer; try again.");
  return box;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
