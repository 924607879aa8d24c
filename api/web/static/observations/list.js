// The list of runs: what runs now, kept up to date, and what is chosen to be compared.

import { formatElapsed } from "./elapsed.js";
import { showTimes } from "../zone.js";
import { visible } from "./visible.js";

const EVERY_MS = 1000;
const RECORDED_MS = 1500;

const root = document.documentElement.dataset.root;
const section = document.getElementById("running");
const recorded = document.getElementById("recorded");

let known = new Set();

recorded.addEventListener("change", choose);
choose();
void look();

/** Poll the running observations and show them. */
async function look() {
  if (!document.hidden) await showRunning().catch(() => {});
  setTimeout(look, EVERY_MS);
}

async function showRunning() {
  const headers = { Accept: "application/json" };
  const answer = await fetch(`${root}/observations/running`, { headers });
  if (!answer.ok) return;
  const found = (await answer.json()).filter((one) => one.state !== "over");
  section.hidden = !found.length;
  section.querySelector("tbody").replaceChildren(...found.map(row));
  const ids = new Set(found.map((one) => one.id));
  // What is over is recorded a moment later.
  if ([...known].some((id) => !ids.has(id))) setTimeout(() => void refresh(), RECORDED_MS);
  known = ids;
}

function row(one) {
  const made = document.createElement("tr");
  const head = made.appendChild(document.createElement("th"));
  head.scope = "row";
  const link = head.appendChild(document.createElement("a"));
  link.className = "command";
  link.href = `${root}/observations/${one.id}`;
  link.textContent = visible(one.command);
  made.insertCell().textContent = one.host;
  const since = made.insertCell();
  since.className = "number";
  since.textContent = formatElapsed(one.elapsed);
  const number = made.insertCell();
  number.className = "number";
  const running = Math.min(one.runs.length + 1, one.repeat);
  number.textContent = one.repeat > 1 ? `${running} of ${one.repeat}` : "";
  return made;
}

/** The current list; selected runs stay selected. */
async function refresh() {
  const chosen = new Set(checked().map((box) => box.value));
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const list = page.getElementById("recorded");
  if (!list) return;
  recorded.replaceChildren(...[...list.childNodes].map((node) => document.adoptNode(node)));
  for (const box of boxes()) box.checked = chosen.has(box.value);
  choose();
  showTimes(recorded);
}

function choose() {
  const button = document.getElementById("compare");
  if (!button) return;
  const count = checked().length;
  button.disabled = count < 2;
  button.textContent = count < 2 ? "Compare" : `Compare ${count}`;
}

function boxes() {
  return [...recorded.querySelectorAll("input[type=checkbox]")];
}

function checked() {
  return boxes().filter((box) => box.checked);
}
