// The drawing: coloured by load, with arrow keys and zoom.

import { paintLoad, prepare } from "./paint.js";
import { watchKeys } from "./keys.js";
import { watchPointer } from "./pointer.js";
import { watchZoom } from "./zoom.js";
import { poll } from "./poll.js";
import { showProse } from "../prose.js";

const sheet = document.getElementById("sheet");
const svg = sheet.querySelector("svg");
const live = document.getElementById("live");
const problem = document.getElementById("problem");
const boxes = prepare(svg);

watchPointer(svg, boxes);
watchKeys(svg, boxes);
watchZoom(sheet, svg);
document.addEventListener("themechange", () => paintLoad(boxes));

poll(sheet.dataset.load, 2000, (answer) => {
  const threads = Object.values(answer.busy);
  const known = threads.filter((share) => share !== null).length;
  paintLoad(boxes, new Map(Object.entries(answer.busy)));
  show(answer.problem, known, threads.length);
});

function show(trouble, known, all) {
  problem.hidden = !trouble;
  showProse(problem, trouble);
  live.className = `state ${known ? "good" : trouble ? "bad" : ""}`;
  live.textContent = known
    ? `live, ${known} of ${boxes.threads.length} threads`
    : trouble ? "no values" : all ? "no recent values" : "not sampled";
}
