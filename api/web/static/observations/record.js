// A recorded run: charts of its series, and its output.

import { ask } from "../explorer/api.js";
import { drawCharts } from "./charts.js";
import { showProfile } from "./flame.js";
import { Printer, bytesOf, formatSize } from "./printer.js";
import { showProse } from "../prose.js";

const root = document.documentElement.dataset.root;
const at = (id) => document.getElementById(id);
const { iri, path } = at("record").dataset;

if (at("spec")) {
  const spec = JSON.parse(at("spec").textContent);
  drawCharts(spec, windowOf, queryOf);
}
if (at("output")) void showOutput();
for (const place of document.querySelectorAll(".profile")) showProfile(path, place);

function windowOf(panel, [start, end]) {
  return ask(`${path}/series`, { metric: panel.title, start, end });
}

function queryOf(panel) {
  const parameters = new URLSearchParams({ id: iri, metric: panel.title });
  return `${root}/queries/observations/statistics?${parameters}`;
}

async function showOutput() {
  try {
    const printed = await ask(`${path}/output`, {});
    const printer = new Printer(at("output"));
    for (const name of ["stdout", "stderr"]) show(printer, name, printed[name]);
    at("output-note").textContent = noteOf(printed);
    at("output").hidden = !printed.stdout.bytes && !printed.stderr.bytes;
  } catch (error) {
    at("output").hidden = true;
    showProse(at("output-problem"), error.message);
    at("output-problem").hidden = false;
  }
}

function show(printer, name, kept) {
  printer.print(name, bytesOf(kept.head));
  if (kept.cut) printer.say(`\n— ${formatSize(kept.cut)} of ${name} are not kept —`);
  printer.print(name, bytesOf(kept.tail));
}

function noteOf({ stdout, stderr }) {
  if (!stdout.bytes && !stderr.bytes) return "It printed nothing.";
  const parts = [stdout.bytes && `${formatSize(stdout.bytes)} of standard output`];
  parts.push(stderr.bytes && `${formatSize(stderr.bytes)} of standard error, shown below`);
  return `${parts.filter(Boolean).join("; ")}.`;
}
