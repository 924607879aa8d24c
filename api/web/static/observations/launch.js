// The form that runs a command, with a preview of its words and CPUs.

import { ask } from "../explorer/api.js";
import { Chips } from "./chips.js";
import { Preview } from "./preview.js";
import { send, showProblem } from "./send.js";
import { visible } from "./visible.js";
import { splitWords } from "./words.js";

const AFTER_MS = 200;
const NAMES_SHOWN = 200;
const SEPARATED = /[\s,]+/;

const root = document.documentElement.dataset.root;
const at = (id) => document.getElementById(id);
const form = at("launch");
const requested = JSON.parse(at("requested").textContent);
const chips = {
  metrics: new Chips(at("metrics"), { split: SEPARATED, known: requested.metrics }),
  roles: new Chips(at("roles"), { split: SEPARATED, known: requested.roles }),
  events: new Chips(at("events"), { split: SEPARATED, known: requested.events }),
  tags: new Chips(at("tags"), { known: requested.tags }),
};
const preview = new Preview(at("preview"));

let timer = 0;
let going = null;

at("command").addEventListener("input", showWords);
at("metrics").addEventListener("input", () => later(offerMetrics));
for (const id of ["host", "pinning", "threads", "pin", "cpus"]) {
  at(id).addEventListener("input", () => later(showPlace));
}
at("give-up").addEventListener("click", () => going?.abort());
form.addEventListener("submit", (event) => {
  event.preventDefault();
  void launch();
});
showWords();
showPlace();

function showWords() {
  const { words, shell, problem } = splitWords(at("command").value);
  at("words").replaceChildren(...words.map(shownWord));
  const hint = shell && `${shell} would be read by a shell only; for one, write sh -c '…'`;
  const message = problem || hint;
  at("shell").textContent = message;
  at("shell").hidden = !message;
}

function shownWord(word) {
  const item = document.createElement("li");
  item.textContent = visible(word).replace(/\n/g, "⏎").replace(/\t/g, "⇥") || "empty";
  item.classList.toggle("empty", !word);
  return item;
}

function showPlace() {
  const chosen = at("pinning").value;
  for (const field of form.querySelectorAll("[data-for]")) {
    field.hidden = field.dataset.for !== chosen;
  }
  if (chosen === "policy") void preview.show({ host: at("host").value, ...policy() });
  else preview.clear();
}

function policy() {
  const [threads, pin] = [at("threads").value.trim(), at("pin").value.trim()];
  const counts = /\b(per|likwid):/.test(pin);
  return { threads: threads || (counts ? "" : "1"), policy: pin || "compact" };
}

/** Names of metrics that begin with what was written. */
async function offerMetrics() {
  const written = at("metrics").value.split(SEPARATED).at(-1);
  if (written.length < 2) return;
  const host = at("host").value;
  const [exposed, ready] = await Promise.all([
    rowsOf("names", { host, pattern: `${written}*` }),
    rowsOf("agents", { host }),
  ]);
  const names = [
    ...exposed.filter((row) => row.exposed?.value === "true"),
    // An agent starts when its metric is sampled; a dot stands for all names below.
    ...ready.filter((row) => !row.reason && !row.metric.value.endsWith(".")),
  ].map((row) => row.metric.value).filter((name) => name.startsWith(written));
  at("known-metrics").replaceChildren(
    ...[...new Set(names)].slice(0, NAMES_SHOWN).map((name) => new Option(name)),
  );
}

async function rowsOf(query, parameters) {
  const found = await ask(`/queries/telemetry/${query}.json`, parameters).catch(() => null);
  return found?.results.bindings ?? [];
}

function later(act) {
  clearTimeout(timer);
  timer = setTimeout(act, AFTER_MS);
}

/** The request; throws an Error that names what is wrong. */
function requestBody() {
  const { words, problem } = splitWords(at("command").value);
  if (problem) throw new Error(`The command: ${problem}.`);
  if (!words.length) throw new Error("Write a command.");
  const { threads, policy: pin } = policy();
  const place = {
    policy: { pin, ...(threads ? { threads } : {}) },
    cpus: { cpus: at("cpus").value.trim() },
  };
  const timeout = Number(at("timeout").value);
  return {
    argv: words,
    host: at("host").value,
    ...place[at("pinning").value],
    ...Object.fromEntries(Object.entries(chips).map(([name, one]) => [name, one.values])),
    every: at("every").value.trim() || "1s",
    repeat: Number(at("repeat").value) || 1,
    env: variables(),
    cwd: at("cwd").value.trim(),
    ...(timeout ? { timeout } : {}),
    ...Object.fromEntries(choices().map((name) => [name, true])),
    wait: at("wait").checked,
  };
}

/** The names of what is chosen by checkboxes. */
function choices() {
  return [...form.querySelectorAll("[name=choice]:checked")].map((box) => box.value);
}

function variables() {
  const { words, problem } = splitWords(at("env").value);
  if (problem) throw new Error(`The variables: ${problem}.`);
  return Object.fromEntries(words.map(variable));
}

function variable(word) {
  const found = /^([^=]+)=([\s\S]*)$/.exec(word);
  if (!found) throw new Error(`${word.slice(0, 60)} is not a variable: write NAME=VALUE.`);
  return [found[1], found[2]];
}

async function launch() {
  if (going) return;
  try {
    const body = requestBody();
    going = new AbortController();
    busy(body.wait ? "Waiting for CPUs …" : "Starting …");
    const { id } = await send("POST", "/observations", body, going.signal);
    location.assign(`${root}/observations/${id}`);
  } catch (error) {
    const gaveUp = error.name === "AbortError";
    showProblem(at("problem"), gaveUp ? null : error, "/observations/new");
    if (!gaveUp) at("problem").scrollIntoView({ block: "nearest" });
    going = null;
    busy("");
  }
}

function busy(text) {
  at("state").textContent = text;
  at("give-up").hidden = !text;
  at("run").disabled = Boolean(text) || !form.dataset.may;
  if (text) at("problem").hidden = true;
}
