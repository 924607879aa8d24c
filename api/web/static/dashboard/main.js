// The page of one dashboard: draws its spec as live charts.

import { formatAge, formatTime } from "../charts/times.js";
import { Board } from "./board.js";
import { Feed } from "./feed.js";
import { Links } from "./links.js";
import { secondsToStream, readRange, shownOf, writeRange } from "./range.js";
import { Toolbar } from "./toolbar.js";
import { showProse } from "../prose.js";

const RETRY_MS = 3000;
const SLEEP_MS = 30000;

const root = document.documentElement.dataset.root;
const spec = JSON.parse(document.getElementById("spec").textContent);
const links = new Links(spec.base, root, spec.host);
const address = `${root}/dashboards/${encodeURIComponent(spec.name)}`;
const banner = document.getElementById("banner");

const since = Number(document.getElementById("board").dataset.since ?? 0);

let range = readRange(new URLSearchParams(location.search), since);
let streamed = 0;
let isOver = false;
let paused = false;
let lastTick = 0;
let retry = 0;
let asleep = 0;

const feed = new Feed(address, spec.host ? { host: spec.host } : {}, {
  window: loaded,
  tick,
  problem,
  recovered,
  changed,
});
// Request the stream first, and build the panels meanwhile.
const hasSeries = spec.sections.some((s) => s.panels.some((p) => p.series.length));
if (hasSeries && isLive()) follow();

const board = new Board(document.getElementById("board"), spec, {
  links,
  pictures: {
    href: (iri) => links.href(iri),
    link: (series, name) => links.link(series, name),
    zoom: (from, to) => go({ from, to }),
  },
  query: queryAddress,
  isLive,
});
board.onSeen = (panel) => {
  if (!isLive()) void fetchPanel(panel);
};
const toolbar = new Toolbar(document.getElementById("toolbar"), {
  host: (name) => change({ host: name, component: "" }, true),
  component: (id) => change({ component: id }),
  range: go,
  pause,
}, since);

addEventListener("popstate", () => applyAddress());
addEventListener("pagehide", () => feed.stop());
addEventListener("pageshow", (event) => event.persisted && start());
addEventListener("visibilitychange", sleep);
document.addEventListener("runover", end);
document.addEventListener("zonechange", () => {
  toolbar.fill(board.range, true);
  showState();
});
document.getElementById("reload").addEventListener("click", () => location.reload());
setInterval(showState, 1000);
narrow();
if (hasSeries) start(true);
else {
  document.getElementById("times").hidden = true;
  sayOnce();
}
if (range.problem) say(range.problem, "warn");

/** Begin with the range of the address; `begun`: the stream is open already. */
function start(begun = false) {
  clearTimeout(retry);
  toolbar.range(range);
  if (isLive()) {
    board.show(shownOf(range, Date.now() / 1000));
    if (!begun) follow();
  } else {
    feed.stop();
    for (const panel of board.panels.values()) panel.loaded = false;
    board.show([range.from, range.to]);
    for (const panel of board.panels.values()) if (panel.visible) void fetchPanel(panel);
  }
  toolbar.fill(board.range);
  showState();
}

function isLive() {
  return Boolean(range.last || range.since);
}

function follow() {
  streamed = secondsToStream(range);
  feed.live(streamed);
}

/** The stream has ended: the charts stay as they are. */
function end() {
  isOver = true;
  feed.stop();
  document.getElementById("times").hidden = true;
  document.getElementById("changed").hidden = true;
  say("");
}

function loaded(window) {
  const panel = board.panels.get(window.panel);
  if (!panel) return;
  panel.load(window);
  if (isLive()) {
    lastTick = Math.max(lastTick, window.end);
    board.range = shownOf(range, lastTick);
  }
  toolbar.fill(board.range);
  board.redraw();
}

function tick({ time, panels, bounded }) {
  lastTick = time;
  for (const [id, values] of Object.entries(panels)) {
    board.panels.get(id)?.append(time, values, streamed, bounded[id]);
  }
  board.show(shownOf(range, time));
  toolbar.fill(board.range);
  showState();
  // The picture has outgrown what the stream was opened for.
  if (range.since && time - range.since > streamed) follow();
}

/** One panel's points of a fixed range; requested when it is first visible. */
async function fetchPanel(panel) {
  if (!panel.drawsSeries || panel.loaded || panel.requested === range) return;
  const requested = range;
  panel.requested = requested;
  try {
    const window = await feed.range(panel.panel.id, requested.from, requested.to);
    if (requested !== range) return;
    loaded(window);
    recovered();
  } catch (error) {
    if (error.name === "AbortError" || requested !== range) return;
    panel.requested = null;
    problem(error.message);
    clearTimeout(retry);
    retry = setTimeout(() => {
      for (const each of board.panels.values()) if (each.visible) void fetchPanel(each);
    }, RETRY_MS);
  }
}

function pause() {
  if (!isLive()) return;
  paused = !paused;
  if (paused) feed.stop();
  else start();
  showState();
}

/** A hidden page closes its stream: a browser has few per site. */
function sleep() {
  clearTimeout(asleep);
  if (!isLive() || paused || isOver || !hasSeries) return;
  if (document.hidden) asleep = setTimeout(() => feed.stop(), SLEEP_MS);
  else if (!feed.source) start();
}

/** Another range of time, as a step of the history. */
function go(next) {
  const search = writeRange(new URLSearchParams(location.search), next);
  history.pushState(null, "", `?${search}`);
  applyAddress();
}

function change(parameters, reload = false) {
  const search = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(parameters)) {
    if (value) search.set(name, value);
    else search.delete(name);
  }
  if (reload) {
    location.assign(`?${search}`);
    return;
  }
  history.pushState(null, "", `?${search}`);
  narrow();
}

function applyAddress() {
  const next = readRange(new URLSearchParams(location.search), since);
  const same = ["since", "last", "from", "to"].every((name) => next[name] === range[name]);
  narrow();
  if (same) return;
  [range, paused] = [next, false];
  say("");
  if (hasSeries) start();
}

function narrow() {
  const id = new URLSearchParams(location.search).get("component") ?? "";
  const chosen = spec.components.find((component) => component.id === id);
  toolbar.component(chosen?.id ?? "");
  board.narrow(chosen ? chosen.instances : null);
}

function problem(detail) {
  say(detail, "bad");
  showState();
}

function recovered() {
  if (!range.problem) say("");
  showState();
}

/** The page shows a description that is no longer current. */
function changed() {
  document.getElementById("changed").hidden = isOver;
}

/** If all panels are empty for the same reason, show it once above them. */
function sayOnce() {
  const panels = spec.sections.flatMap((section) => section.panels);
  const reasons = new Set(panels.flatMap((panel) => panel.why));
  const others = panels.some((panel) => panel.problem || panel.table?.rows.length);
  if (others || panels.length < 3 || reasons.size !== 1) return;
  say(`Nothing to show: ${[...reasons][0]}.`, "warn");
  for (const section of board.sections) section.open = false;
}

function say(text, kind = "bad") {
  banner.className = `banner ${kind}`;
  showProse(banner, text);
  banner.hidden = !text;
}

function showState() {
  if (!isLive()) {
    const span = `${formatTime(range.from)} – ${formatTime(range.to)}`;
    toolbar.state("range", span);
  } else if (paused) toolbar.state("paused", "Paused");
  else if (!banner.hidden && banner.classList.contains("bad")) toolbar.state("lost", "Unreachable");
  else if (!lastTick) toolbar.state("waiting", "Waiting …");
  else toolbar.state("live", `Live · ${formatTime(lastTick)}${lag()}`);
}

function lag() {
  const age = Date.now() / 1000 - lastTick;
  return age > Math.max(10, (range.last ?? streamed) / 100) ? `, ${formatAge(age)} ago` : "";
}

function queryAddress(panel) {
  const given = { ...spec.given, ...(spec.host ? { host: spec.host } : {}) };
  const search = Object.keys(given).length ? `?${new URLSearchParams(given)}` : "";
  return `${root}/queries/${panel.query.split("/").map(encodeURIComponent).join("/")}${search}`;
}
