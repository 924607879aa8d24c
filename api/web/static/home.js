// The first page: health of the services and load of the hosts, kept up to date.

import { drawSpark } from "./charts/spark.js";
import { formatAge } from "./charts/times.js";
import { figures } from "./charts/units.js";
import { showProse } from "./prose.js";
import { showTimes } from "./zone.js";

const EVERY_MS = 3000;
const STALE_S = 60;
const root = document.documentElement.dataset.root;
const NO_ANSWER = "SuperTwin itself does not answer; this page tries again";

let last = null;

/** Poll the state and show it. */
async function refresh() {
  if (!document.hidden) {
    const found = await ask();
    if (found) {
      last = found;
      showServices(found.health.services);
      showHosts(found);
      await recover(found.health.services);
    } else showNoAnswer();
  }
  setTimeout(refresh, EVERY_MS);
}

async function ask() {
  try {
    const answer = await fetch(`${root}/state`);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function showServices(services) {
  for (const item of document.querySelectorAll("[data-service]")) {
    const service = services[item.dataset.service];
    mark(item, service.ok ? "good" : "bad", service.ok ? well(service) : service.reason);
  }
}

function showNoAnswer() {
  for (const item of document.querySelectorAll("[data-service]")) {
    mark(item, "", NO_ANSWER);
  }
}

function mark(item, state, text) {
  item.querySelector(".state").className = `state ${state}`;
  const reason = item.querySelector(".reason");
  reason.classList.toggle("failed", state === "bad");
  showProse(reason, text);
}

function well({ ms, age_s: age }) {
  if (typeof ms === "number") return `answers in ${figures(ms, 2)} ms`;
  return typeof age === "number" ? `last status ${formatAge(age)} ago` : "runs";
}

function showHosts({ hosts, problem }) {
  for (const card of document.querySelectorAll("[data-host]")) {
    showHost(card, hosts[card.dataset.host], problem);
  }
}

function showHost(card, found, problem) {
  const shares = found ? found.busy : [];
  const share = shares.findLast((value) => value !== null);
  const stale = !found || found.age_s === null || found.age_s > STALE_S;
  const known = share !== undefined && !stale;
  const busy = card.querySelector(".share");
  busy.textContent = known ? `${Math.round(share * 100)} %` : "–";
  // The table of hosts is sorted by data-value.
  busy.dataset.value = known ? share : "";
  const age = card.querySelector(".sampled");
  showProse(age, sampled(found, problem, "unplanned" in card.dataset));
  age.dataset.value = typeof found?.age_s === "number" ? Math.round(found.age_s) : "";
  const canvas = card.querySelector("canvas");
  if (!canvas) return;
  const values = Float64Array.from(shares, (value) => value ?? NaN);
  const times = Float64Array.from(shares, (_, i) => i);
  drawSpark(canvas, times, values, [0, times.length - 1], [0, 1]);
}

function sampled(found, problem, unplanned) {
  if (problem) return `series unknown: ${problem}`;
  if (!found || found.age_s === null) {
    return unplanned ? "never sampled" : "no samples in the last hour";
  }
  return `last sample ${formatAge(found.age_s)} ago`;
}

/** Fetch the list of hosts once the graph is back; the page was made without it. */
async function recover(services) {
  const place = document.getElementById("hosts");
  if (!place.dataset.problem || !services.fuseki.ok) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const hosts = page.getElementById("hosts");
  // The table gets its sorting when the page is loaded.
  if (hosts?.querySelector("table")) return location.reload();
  if (hosts) place.replaceWith(document.adoptNode(hosts));
  showTimes();
  if (last) showHosts(last);
}

/** Show the hosts whose card contains every search word. */
function find(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const cards = [...document.querySelectorAll("[data-host]")];
  for (const card of cards) {
    const about = card.dataset.words ?? card.firstElementChild.textContent;
    const searched = `${card.dataset.host} ${about}`.toLowerCase();
    card.hidden = !words.every((word) => searched.includes(word));
  }
  const shown = cards.filter((card) => !card.hidden).length;
  const all = shown === cards.length;
  document.getElementById("found-hosts").textContent = all
    ? `${shown} hosts`
    : `${shown} of ${cards.length} hosts`;
}

// The list is replaced when the graph comes back.
document.addEventListener("input", ({ target }) => {
  if (target.id === "find-host") find(target.value);
});
document.addEventListener("themechange", () => last && showHosts(last));
void refresh();
