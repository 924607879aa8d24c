// A comparison: charts of all runs overlaid, and a filter for differences.

import { drawCharts } from "./charts.js";

const root = document.documentElement.dataset.root;
const at = (id) => document.getElementById(id);
const spec = JSON.parse(at("spec").textContent);
const same = [...document.querySelectorAll("#measures tr[data-same]")];

if (at("board")) drawCharts(spec, windowOf, queryOf);
at("tools").hidden = false;
at("only").addEventListener("change", narrow);
narrow();

async function windowOf({ series: [{ metric, instname }] }) {
  const parameters = new URLSearchParams(spec.ids.map((id) => ["id", id]));
  parameters.set("metric", metric);
  if (instname !== null) parameters.set("instance", instname);
  const headers = { Accept: "application/json" };
  const answer = await fetch(`${root}/observations/compare/series?${parameters}`, { headers });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail ?? `status ${answer.status}`);
  return body;
}

function queryOf({ series: [{ metric }] }) {
  return `${root}/queries/observations/statistics?${new URLSearchParams({ metric })}`;
}

function narrow() {
  const only = at("only").checked;
  for (const row of same) row.hidden = only;
  at("left").textContent = only ? `${same.length || "nothing"} left out` : "";
}
