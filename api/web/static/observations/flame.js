// A flame graph: each row is called by the one above; the width is the share of stacks.

import { ask } from "../explorer/api.js";
import { showProse } from "../prose.js";

const LEAST = 0.002; // narrower boxes cannot be seen
const COLOURS = 8;
const STRONGEST = 0.2; // a difference of this share has the full colour

/** Draw the profile of the run at `path`; with `other`, its difference to that run. */
export async function drawFlame(element, path, other) {
  const problem = element.querySelector(".banner");
  problem.hidden = true;
  try {
    const tree = await ask(`${path}/profile`, other ? { with: other } : {});
    element.querySelector(".flame-note").textContent = noteOf(tree.runs);
    draw(element.querySelector(".flame"), tree, tree);
  } catch (error) {
    showProse(problem, error.message);
    problem.hidden = false;
  }
}

function noteOf(runs) {
  const texts = runs.map(({ id, samples, lost, rate, sampler, notes }) =>
    [`${id}: ${samples} stacks by ${sampler} at ${rate} Hz, ${lost} lost`, ...notes].join("; "));
  return texts.join(" · ") + (runs.length > 1 ? " · orange: more in the second, blue: less" : "");
}

const widthOf = ({ shares }) => shares.reduce((a, b) => a + b) / shares.length;

function draw(box, root, top) {
  box.replaceChildren();
  const whole = widthOf(top);
  let deepest = 0;
  const add = (node, depth, left) => {
    const width = widthOf(node) / whole;
    if (width < LEAST) return;
    deepest = Math.max(deepest, depth);
    box.append(boxOf(node, depth, left, width, () => draw(box, root, node === top ? root : node)));
    let at = left;
    for (const child of node.children) {
      add(child, depth + 1, at);
      at += widthOf(child) / whole;
    }
  };
  add(top, 0, 0);
  box.style.height = `${(deepest + 1) * 1.35}rem`;
}

function boxOf(node, depth, left, width, zoom) {
  const found = document.createElement("button");
  const shares = node.shares.map((share) => `${(100 * share).toFixed(1)} %`).join(" → ");
  found.type = "button";
  found.textContent = node.name;
  found.title = `${node.name}\n${shares}\n${node.file}`;
  found.dataset.name = node.name;
  found.dataset.shares = node.shares.join(" ");
  found.style.left = `${100 * left}%`;
  found.style.width = `${100 * width}%`;
  found.style.top = `${1.35 * depth}rem`;
  found.style.background = colourOf(node);
  found.addEventListener("click", zoom);
  return found;
}

function colourOf({ file, shares }) {
  if (shares.length === 1) {
    let sum = 0;
    for (const letter of file) sum = (31 * sum + letter.charCodeAt(0)) % 9973;
    return `color-mix(in srgb, var(--c${sum % COLOURS}) 35%, var(--panel))`;
  }
  const change = shares[1] - shares[0];
  const strength = Math.round(70 * Math.min(Math.abs(change) / STRONGEST, 1));
  return `color-mix(in srgb, var(${change > 0 ? "--c3" : "--c0"}) ${strength}%, var(--panel))`;
}
