// The table of series: last value, age, the last quarter of an hour, and what it is now.

import { formatValue } from "../charts/units.js";
import { ask } from "./api.js";
import { sparkline } from "./spark.js";
import { showProse } from "../prose.js";

const EVERY = 5000;
// A series whose last value is older than this many periods has gone quiet.
const LATE = 10;

/**
 * Fill the rows, every few seconds while the page is visible.
 * @param {HTMLTableElement} table whose rows carry the IRI of their series
 * @param {string} iri of the component
 */
export function showSeries(table, iri) {
  const rows = new Map(
    [...table.tBodies[0].rows].map((row) => [row.dataset.telemetry, row]),
  );
  const problem = document.getElementById("telemetry-problem");
  let timer = 0;

  async function refresh() {
    clearTimeout(timer);
    if (!document.hidden) await update();
    timer = setTimeout(refresh, EVERY);
  }

  async function update() {
    try {
      const answer = await ask("/explorer/telemetry", { iri });
      say(problem, answer.problem);
      if (answer.problem) return;
      for (const metric of answer.metrics) {
        const row = rows.get(metric.telemetry);
        if (row) fill(row, metric);
      }
    } catch (error) {
      say(problem, error.message);
    }
  }

  document.addEventListener("visibilitychange", () => document.hidden || refresh());
  refresh();
}

function say(problem, text) {
  problem.hidden = !text;
  showProse(problem, text);
}

function fill(row, metric) {
  const cell = (name) => row.querySelector(`[data-cell=${name}]`);
  if (metric.value === null) return explain(row, metric);
  row.dataset.explained = "";
  const value = cell("value");
  const isText = metric.text !== null;
  value.textContent = isText ? metric.text : formatValue(metric.value, metric.unit);
  value.title = isText ? metric.text : `${metric.value} ${metric.unit.symbol}`.trim();
  const age = Math.max(0, Date.now() / 1000 - metric.time);
  cell("age").textContent = ageText(age);
  row.classList.toggle("late", age > LATE * metric.period);
  const chart = isText ? [] : [sparkline(metric.chart, chartLabel(metric))];
  cell("chart").replaceChildren(...chart);
  const now = metric.chart.findLast((each) => each !== null);
  cell("now").textContent = metric.rate ? formatValue(now ?? null, metric.chartUnit) : "";
}

function chartLabel(metric) {
  const known = metric.chart.filter((value) => value !== null);
  if (!known.length) return "no values in the last 15 minutes";
  const low = formatValue(Math.min(...known), metric.chartUnit);
  const high = formatValue(Math.max(...known), metric.chartUnit);
  return `${metric.rate ? "rate, " : ""}from ${low} to ${high}`;
}

/** Request the reason for missing data once, and again only after there was data. */
async function explain(row, metric) {
  if (row.dataset.explained) return;
  row.dataset.explained = "requested";
  const { host, metric: name, instance } = metric;
  const parameters = instance === null ? { host, metric: name } : { host, metric: name, instance };
  const cell = row.querySelector("[data-cell=chart]");
  cell.className = "why";
  try {
    const { verdict, reason } = await ask("/why", parameters);
    showProse(cell, verdict === "data" ? "" : `${verdict}: ${reason}`);
  } catch (error) {
    showProse(cell, error.message);
    row.dataset.explained = "";
  }
}

function ageText(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
