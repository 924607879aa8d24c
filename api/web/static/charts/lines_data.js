// The data that a line chart draws of a frame: lines, band, top lines, or stack.

const TOP = 8;

/** The modes of a panel of lines; the first is the default. */
export function modesFor(panel, count) {
  if (panel.stack) return ["stack"];
  return count > 16 ? ["band", "lines", "top"] : ["lines"];
}

/**
 * The arrays that are drawn in a mode, and the series that each represents.
 * @returns {{arrays: Float64Array[], of: number[], kind: string}}
 */
export function drawn(frame, shown, mode) {
  if (mode === "band") return { ...band(frame, shown), kind: "band" };
  if (mode === "stack") return { ...stack(frame, shown), kind: "stack" };
  const of = mode === "top" ? top(frame, shown) : shown;
  return { arrays: of.map((i) => frame.values[i]), of, kind: "lines" };
}

/** Minimum, median and maximum of all series at each point. */
function band(frame, shown) {
  const arrays = [0, 1, 2].map(() => new Float64Array(frame.length).fill(NaN));
  const column = new Float64Array(shown.length);
  for (let at = 0; at < frame.length; at++) {
    let count = 0;
    for (const i of shown) {
      const value = frame.values[i][at];
      if (!Number.isNaN(value)) column[count++] = value;
    }
    if (!count) continue;
    const sorted = column.subarray(0, count).sort();
    arrays[0][at] = sorted[count - 1];
    arrays[1][at] = sorted[0];
    arrays[2][at] = (sorted[(count - 1) >> 1] + sorted[count >> 1]) / 2;
  }
  return { arrays, of: [] };
}

/** Sums from the first series up; the largest comes first, to be drawn behind. */
function stack(frame, shown) {
  const arrays = [];
  let below = null;
  for (const i of shown) {
    const values = frame.values[i];
    const sum = Float64Array.from(values, (value, at) => added(below, at, value));
    arrays.unshift(sum);
    below = sum;
  }
  return { arrays, of: [...shown].reverse() };
}

function added(below, at, value) {
  const under = below ? below[at] : NaN;
  if (Number.isNaN(value)) return under;
  return Number.isNaN(under) ? value : under + value;
}

/** The series with the highest mean over what is shown. */
function top(frame, shown) {
  const means = new Map(shown.map((i) => [i, mean(frame.values[i])]));
  return [...shown]
    .sort((a, b) => means.get(b) - means.get(a))
    .slice(0, TOP)
    .sort((a, b) => a - b);
}

function mean(values) {
  let [sum, count] = [0, 0];
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
  }
  return count ? sum / count : -Infinity;
}

/** The lowest and the highest of all values, [NaN, NaN] without any. */
export function extent(arrays) {
  let [low, high] = [Infinity, -Infinity];
  for (const values of arrays) {
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : [NaN, NaN];
}
