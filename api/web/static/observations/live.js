// An observation while it runs: output, progress and end.

import { formatElapsed } from "./elapsed.js";
import { Printer, bytesOf, formatSize } from "./printer.js";
import { send, showProblem } from "./send.js";
import { visible } from "./visible.js";

const LOOK_MS = 1000;
const RECORDED_MS = 500;
const AGAIN_MS = 2000;

const root = document.documentElement.dataset.root;
const at = (id) => document.getElementById(id);
const page = at("live");
const { id } = page.dataset;
const path = `/observations/${id}`;
const printer = at("output") ? new Printer(at("output")) : null;
const hears = { started, output, alive, over, ended, closed };

let began = 0;
let isOver = false;
let isSettled = false;
let run = 0;
let known = 0;

at("cancel").addEventListener("click", cancel);
setInterval(tick, 100);
void begin();

async function begin() {
  await look();
  if (printer) follow();
  else poll();
}

/** Its state, as everybody may see it. */
async function look() {
  try {
    const found = await send("GET", path);
    began = performance.now() / 1000 - found.elapsed;
    show(found);
  } catch (error) {
    showProblem(at("problem"), error, path);
  }
}

/** Until it is over and recorded as far as possible. */
function poll() {
  if (!isSettled) setTimeout(() => void look().then(poll), isOver ? RECORDED_MS : LOOK_MS);
}

function follow() {
  const source = new EventSource(`${root}${path}/events?after=${known}`);
  for (const [name, hear] of Object.entries(hears)) {
    source.addEventListener(name, (event) => {
      known = Math.max(known, Number(event.lastEventId));
      at("problem").hidden = true;
      hear(JSON.parse(event.data), source);
    });
  }
  source.addEventListener("error", () => void lost(source));
}

/** The browser tries again by itself, unless it was answered with an error. */
async function lost(source) {
  if (source.readyState !== EventSource.CLOSED) {
    showProblem(at("problem"), new Error("SuperTwin does not answer; trying again."), path);
    return;
  }
  await look();
  if (!isOver) setTimeout(follow, AGAIN_MS);
}

function started(event) {
  run += 1;
  at("cancel").hidden = !page.dataset.may;
  printer.restart();
  if (run > 1) printer.say(`— run ${run} —`);
  at("how").textContent = `process ${event.pid}${run > 1 ? `, run ${run}` : ""}`;
}

function output(event) {
  printer.print(event.stream, bytesOf(event.data));
}

function alive(event) {
  const others = event.pids.length - 1;
  const more = others > 0 ? `, ${others} more of its own` : "";
  at("how").textContent = `process ${event.pids[0]}${more}${run > 1 ? `, run ${run}` : ""}`;
  at("sizes").textContent = sizes({ stdout: event.stdout, stderr: event.stderr });
}

function over() {
  at("how").textContent = "over; its counters are read";
}

function ended(event) {
  const { stdout, stderr } = event.output;
  at("sizes").textContent = sizes({ stdout: stdout.bytes, stderr: stderr.bytes });
  const status = event.signal === null ? `exit status ${event.exit}` : `signal ${event.signal}`;
  at("how").textContent = status;
  for (const [name, kept] of Object.entries(event.output)) {
    if (!kept.tail) continue;
    if (kept.cut) printer.say(`— ${formatSize(kept.cut)} of ${name} are not kept —`);
    printer.print(name, bytesOf(kept.tail));
  }
}

function closed(event, source) {
  source.close();
  show(event);
  void look().then(poll);
}

function show(found) {
  isOver = found.state === "over";
  const recorded = new Set(found.recorded);
  isSettled = isOver && (Boolean(found.problem) || found.runs.every((one) => recorded.has(one.node)));
  at("cancel").hidden = isOver || !page.dataset.may;
  if (isOver) document.dispatchEvent(new Event("runover"));
  const outcomes = [...new Set(found.runs.map((one) => one.outcome))];
  const good = outcomes.length === 1 && outcomes[0] === "completed";
  at("state").textContent = isOver ? outcomes.join(", ") || "did not run" : "running";
  at("state").className = `state ${isOver ? (good ? "good" : "bad") : "running"}`;
  if (found.problem) showProblem(at("problem"), new Error(visible(found.problem)), path);
  showRuns(found, recorded);
}

function showRuns({ runs, repeat }, recorded) {
  const body = at("runs").querySelector("tbody");
  at("runs").hidden = !runs.length;
  const rows = runs.map((one, at) => shownRun(one, at + 1, repeat, recorded.has(one.node)));
  body.replaceChildren(...rows);
}

function shownRun(one, number, repeat, isRecorded) {
  const row = document.createElement("tr");
  const name = repeat > 1 ? `${number} of ${repeat}` : "What was recorded";
  if (isRecorded) {
    const link = row.insertCell().appendChild(document.createElement("a"));
    link.href = new URL(one.node).pathname;
    link.textContent = name;
  } else row.insertCell().textContent = repeat > 1 ? `${name}, being recorded …` : "being recorded …";
  row.insertCell().textContent = one.outcome;
  const took = row.insertCell();
  took.className = "number";
  took.textContent = formatElapsed(one.seconds);
  row.insertCell().textContent = one.left.map(visible).join(", ");
  return row;
}

async function cancel() {
  at("cancel").disabled = true;
  at("cancel").textContent = "Ending …";
  try {
    await send("DELETE", path);
  } catch (error) {
    at("cancel").disabled = false;
    at("cancel").textContent = "Cancel";
    showProblem(at("problem"), error, path);
  }
}

function sizes(streams) {
  const printed = Object.entries(streams).filter(([, bytes]) => bytes);
  return printed.map(([name, bytes]) => `${formatSize(bytes)} of ${name}`).join(", ");
}

function tick() {
  if (isOver || !began) return;
  at("elapsed").textContent = formatElapsed(performance.now() / 1000 - began);
}
