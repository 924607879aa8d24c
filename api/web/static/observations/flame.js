// The flame graph of a run, or its difference from another run. The outermost calls are
// at the top; a click on a call enlarges it.

import { ask } from "../explorer/api.js";
import { showProse } from "../prose.js";

const ROW_REM = 1.35;
const LEAST_SHARE = 0.001;

// ``within`` has the form, the note and the graph of a profile.
export function showProfile(path, within) {
  const [form, note, place] = ["form", ".note", ".flame"].map((one) => within.querySelector(one));
  const show = (base) => load(path, within.dataset.kind, place, note, base);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void show(new FormData(form).get("base").trim());
  });
  void show("");
}

async function load(path, kind, place, note, base) {
  try {
    const given = base.split("/").pop();
    const found = await ask(`${path}/profile`, { kind, ...(given ? { base: given } : {}) });
    draw(place, treeOf(found.calls), null);
    note.textContent = noteOf(found, given);
  } catch (error) {
    place.replaceChildren();
    showProse(note, error.message);
  }
}

function noteOf(found, base) {
  const words = found.waits
    ? [`${found.waits} waits`, `${found.waited.toFixed(3)} s of all threads`]
    : [`${found.samples} samples`];
  words.push(`${found.lost} lost`);
  if (found.note) words.push(found.note);
  if (base) words.push(`widths: this run; red: more than in ${base}, blue: less`);
  return words.join(", ");
}

// The calls below one another; a caller comes before what it calls.
function treeOf(calls) {
  const root = { name: "all", share: 1, before: undefined, calls: [], parent: null };
  const nodes = calls.map((call) => ({ ...call, calls: [] }));
  for (const node of nodes) {
    node.parent = node.parent < 0 ? root : nodes[node.parent];
    node.parent.calls.push(node);
  }
  // What only the other run has is as wide as there.
  for (const node of nodes) node.width = node.share || node.before;
  root.width = Math.max(1, total(root.calls));
  return root;
}

function total(calls) {
  return calls.reduce((sum, call) => sum + call.width, 0);
}

function draw(place, root, chosen) {
  const top = chosen ?? root;
  const above = [];
  for (let at = top.parent; at; at = at.parent) above.unshift(at);
  const boxes = above.map((call, row) => box(place, root, call, row, 0, 1));
  const depth = lay(place, root, top, above.length, 0, 1, boxes);
  place.style.height = `${(depth + 1) * ROW_REM}rem`;
  place.replaceChildren(...boxes);
}

function lay(place, root, call, row, left, width, boxes) {
  boxes.push(box(place, root, call, row, left, width));
  let depth = row;
  let at = left;
  const scale = width / Math.max(call.width, total(call.calls));
  for (const one of call.calls) {
    const wide = one.width * scale;
    if (wide >= LEAST_SHARE) {
      depth = Math.max(depth, lay(place, root, one, row + 1, at, wide, boxes));
    }
    at += wide;
  }
  return depth;
}

function box(place, root, call, row, left, width) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = call.name;
  button.title = titleOf(call);
  button.style.left = `${100 * left}%`;
  button.style.width = `${100 * width}%`;
  button.style.top = `${row * ROW_REM}rem`;
  button.style.background = colourOf(call);
  button.addEventListener("click", () => draw(place, root, call));
  return button;
}

function titleOf(call) {
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const lines = [`${call.name}: ${percent(call.share)}`];
  if (call.before !== undefined) lines.push(`before: ${percent(call.before)}`);
  if (call.source) lines.push(call.source);
  if (call.binary) lines.push(call.binary);
  return lines.join("\n");
}

function colourOf(call) {
  if (call.before === undefined) return `hsl(${25 + hashOf(call.binary ?? "") * 35} 80% 68%)`;
  const change = Math.max(-1, Math.min(1, 4 * (call.share - call.before)));
  const light = 92 - 32 * Math.abs(change);
  return `hsl(${change > 0 ? 5 : 215} 75% ${light}%)`;
}

// Functions of a file have one colour.
function hashOf(text) {
  let found = 0;
  for (const letter of text) found = (31 * found + letter.codePointAt(0)) % 1009;
  return found / 1009;
}
