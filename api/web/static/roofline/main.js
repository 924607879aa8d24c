// The page of a roofline: marks for the runs that are counted now.

import { Feed } from "../dashboard/feed.js";
import { Marks, Sums, describe } from "./marks.js";

const SECONDS = 30;
const AGAIN_MS = 2000;
const QUERY = "benchmarks/live";

const page = document.getElementById("now");
const address = `${document.documentElement.dataset.root}/dashboards/roofline`;
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
    const query = new URLSearchParams(parameters);
    const headers = { Accept: "application/json" };
    const answer = await fetch(`${address}?${query}`, { headers });
    const spec = await answer.json();
    if (!answer.ok) throw new Error(spec.detail);
    sums = new Sums(spec, QUERY);
    show();
    feed.live(SECONDS);
  } catch (error) {
    tell(error.message);
    setTimeout(() => void begin(), AGAIN_MS);
  }
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
