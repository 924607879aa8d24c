// The text of the tooltip of a line chart.

import { colours } from "./colours.js";
import { formatSince, formatTime } from "./times.js";
import { showTooltip } from "./tooltip.js";
import { formatMeasured, formatValue } from "./units.js";

const MOST = 8;
const NEAR_PX = 30;

/**
 * Show the values at a point, and give the series nearest to the pointer (or null).
 * @param lines the chart
 * @param u uPlot's chart, idx the point, left and top the place of the pointer in it
 */
export function lineTooltip(lines, u, idx, left, top) {
  const { frame, panel, drawn } = lines;
  const found = lines.shown
    .map((i) => ({ i, value: frame.values[i][idx], measured: frame.measured(i, idx) }))
    .filter(({ value }) => !Number.isNaN(value))
    .sort((a, b) => b.value - a.value);
  const near = drawn.kind === "band" ? null : nearest(lines, u, idx, top);
  const { left: x, top: y } = u.over.getBoundingClientRect();
  showTooltip(
    panel.elapsed ? formatSince(frame.times[idx], frame.step / 10) : formatTime(frame.times[idx]),
    [...bandRows(lines, idx), ...rows(lines, panel, found, near)],
    x + left,
    y + top,
    more(found),
  );
  return near;
}

function nearest(lines, u, idx, top) {
  let [best, distance] = [null, NEAR_PX];
  lines.drawn.arrays.forEach((values, at) => {
    const away = Math.abs(u.valToPos(values[idx], "y") - top);
    if (away < distance) [best, distance] = [lines.drawn.of[at], away];
  });
  return best;
}

function bandRows(lines, idx) {
  if (lines.drawn.kind !== "band") return [];
  const [high, low, middle] = lines.drawn.arrays.map((values) => values[idx]);
  const text = (value) => formatValue(value, lines.panel.unit);
  const range = `${text(low)} … ${text(high)}`;
  return [
    { label: "Median", value: text(middle), colour: colours().series[3], strong: true },
    { label: "Range", value: range, colour: colours().series[0], strong: true },
  ];
}

function rows(lines, panel, found, near) {
  const plain = lines.drawn.kind === "band";
  const first = found.slice(0, MOST);
  const kept = first.some(({ i }) => i === near) || near === null;
  const all = kept ? first : [...first, ...found.filter(({ i }) => i === near)];
  return all.map(({ i, value, measured }) => ({
    label: panel.series[i].label,
    value: formatMeasured(value, measured, panel.unit),
    colour: plain ? undefined : lines.colour(i),
    strong: i === near,
  }));
}

function more(found) {
  const count = found.length - MOST;
  return count > 0 ? `and ${count} lower` : "";
}
