// The parts around the cells of a heat map: labels, time, and the scale of colours.

import { colours } from "./colours.js";
import { formatTick, zoneOffset } from "./times.js";
import { formatValue } from "./units.js";

const FONT = "11px system-ui, sans-serif";
const LINE = 13;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** Room around the cells in CSS pixels; labels get up to a quarter of the width. */
export function margins(pen, map) {
  pen.font = FONT;
  const labels = map.shown.map((i) => map.panel.series[i].label);
  const widest = Math.max(...labels.map((label) => pen.measureText(label).width));
  return { left: Math.max(60, Math.min(150, widest + 12)), right: 8, top: 24, bottom: 24 };
}

/** Labels of the rows, and of the time below. */
export function drawAxes(pen, map) {
  const { plot, shown, panel } = map;
  pen.font = FONT;
  pen.fillStyle = colours().muted;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  const every = Math.max(1, Math.ceil(LINE / plot.row));
  shown.forEach((series, row) => {
    if (row % every) return;
    const y = plot.top + (row + 0.5) * plot.row;
    pen.fillText(shortened(pen, panel.series[series].label, plot.left - 10), plot.left - 6, y);
  });
  drawTimes(pen, map);
}

/** The scale of colours with its ends, above the cells. */
export function drawScale(pen, map, width) {
  const { limits, panel } = map;
  const [low, high] = limits.map((limit) => formatValue(limit, panel.unit));
  const right = width - 8;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.fillStyle = colours().muted;
  pen.fillText(high, right, 11);
  const end = right - pen.measureText(high).width - 6;
  const ramp = pen.createLinearGradient(end - 110, 0, end, 0);
  colours().scale.forEach(([r, g, b], i) => ramp.addColorStop(i / 255, `rgb(${r} ${g} ${b})`));
  pen.fillStyle = ramp;
  pen.fillRect(end - 110, 7, 110, 8);
  pen.fillStyle = colours().muted;
  pen.fillText(low, end - 116, 11);
  drawMissing(pen, end - 116 - pen.measureText(low).width - 14);
}

/** A pattern for cells without a value, recognisable without colour. */
export function hatch(pen) {
  const tile = new OffscreenCanvas(6, 6);
  const ink = tile.getContext("2d");
  ink.fillStyle = colours().missing;
  ink.fillRect(0, 0, 6, 6);
  ink.strokeStyle = colours().panel;
  ink.lineWidth = 1.2;
  ink.beginPath();
  for (const at of [-6, 0, 6]) {
    ink.moveTo(at, 6);
    ink.lineTo(at + 6, 0);
  }
  ink.stroke();
  return pen.createPattern(tile, "repeat");
}

function drawMissing(pen, right) {
  pen.fillText("no data", right, 11);
  const x = right - pen.measureText("no data").width - 18;
  pen.fillStyle = hatch(pen);
  pen.fillRect(x, 6, 12, 10);
}

function drawTimes(pen, map) {
  const { plot, range } = map;
  const [from, to] = range;
  const step = STEPS.find((s) => ((to - from) / s) * 75 <= plot.width) ?? 86400;
  const y = plot.top + plot.height + 12;
  const offset = -zoneOffset(from);
  pen.textAlign = "center";
  pen.strokeStyle = colours().line;
  const first = Math.ceil((from - offset) / step) * step + offset;
  for (let time = first; time <= to; time += step) {
    const x = plot.left + ((time - from) / (to - from)) * plot.width;
    pen.fillStyle = colours().line;
    pen.fillRect(Math.round(x), plot.top + plot.height, 1, 4);
    pen.fillStyle = colours().muted;
    if (x > plot.left + 20 && x < plot.left + plot.width - 20) {
      pen.fillText(formatTick(time, step), x, y);
    }
  }
}

function shortened(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) length -= 1;
  return `${text.slice(0, length)}…`;
}
