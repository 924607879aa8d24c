// The page of a roofline: marks for the runs that are counted now.

import { Feed } from "../dashboard/feed.js";
import { Marks, Sums, describe } from "./marks.js";

const SECONDS = 30;
const AGAIN_MS = 2000;
const QUERY = "benchmarks/live";
const RUN = "run-";

const page = document.getElementById("now");
const { root } = document.documentElement.dataset;
const address = `${root}/dashboards/roofline`;
const parameters = { host: page.dataset.host };
const marks = new Marks(document.querySelector("figure svg"));
let sums = null;

const feed = new Feed(address, parameters, {
  window({ panel, values }) {
    sums.take(panel, values.map((column) => column.findLast((value) => value !== null)));
    show();
  },
  tick({ panels }) {
    for (const [panel, values] of Object.entries(panels)) sums.take(panel, values);
    show();
  },
  problem: (text) => tell(text),
  recovered: () => show(),
  changed: () => void begin(),
});

void begin();

/** Read which series there are, and follow them; again when the twin changes. */
async function begin() {
  feed.stop();
  try {
    const found = new Sums(await read(`${address}?${new URLSearchParams(parameters)}`), QUERY);
    await Promise.all([...found.plans].map((plan) => limit(found, plan)));
    sums = found;
    show();
    feed.live(SECONDS);
  } catch (error) {
    tell(error.message);
    setTimeout(() => void begin(), AGAIN_MS);
  }
}

/** Count only the CPUs of a run: its plan samples all. */
async function limit(found, plan) {
  if (!plan.startsWith(RUN)) return;
  try {
    const { cpus } = await read(`${root}/observations/${plan.slice(RUN.length)}`);
    found.limit(plan, cpus);
  } catch {
    // It has ended.
  }
}

async function read(url) {
  const answer = await fetch(url, { headers: { Accept: "application/json" } });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail);
  return body;
}

function show() {
  const points = sums.points();
  marks.show(points);
  tell(points.map(describe).join("; "));
}

function tell(text) {
  page.textContent = text;
  page.hidden = !text;
}
