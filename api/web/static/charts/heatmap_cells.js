// The cells of a heat map as pixels: one row per series, one column per pixel.

import { colours } from "./colours.js";
import { extent } from "./lines_data.js";

/** The scale: the panel's limits where it has them, else those of the values. */
export function fixedLimits(panel, frame, shown) {
  const [low, high] = extent(shown.map((i) => frame.values[i]));
  const from = panel.minimum ?? (Number.isNaN(low) ? 0 : Math.min(low, 0));
  const to = panel.maximum ?? (Number.isNaN(high) ? 1 : high);
  return [from, to > from ? to : from + 1];
}

/** Pixels of all rows; those without a value stay transparent. */
export function cells(map, columns) {
  const { frame, shown, limits, range } = map;
  const image = new ImageData(columns, shown.length);
  const pixels = new Uint32Array(image.data.buffer);
  const points = pointOfColumn(frame, range, columns);
  const palette = packed();
  const [low, high] = limits;
  const factor = 255 / (high - low);
  shown.forEach((series, row) => {
    const values = frame.values[series];
    const start = row * columns;
    for (let x = 0; x < columns; x++) {
      const value = points[x] < 0 ? NaN : values[points[x]];
      if (Number.isNaN(value)) continue;
      const level = Math.round((value - low) * factor);
      pixels[start + x] = palette[level < 0 ? 0 : level > 255 ? 255 : level];
    }
  });
  return image;
}

/** For each column of pixels the point that it shows, -1 where there is none. */
function pointOfColumn(frame, [from, to], columns) {
  const { times, step } = frame;
  const found = new Int32Array(columns).fill(-1);
  let at = 0;
  for (let x = 0; x < columns; x++) {
    const time = from + ((x + 0.5) / columns) * (to - from);
    // A point represents the step that ends with it.
    while (at < times.length && times[at] < time) at += 1;
    if (at < times.length && times[at] - time < step * 1.01) found[x] = at;
  }
  return found;
}

/** The palette as the bytes of ImageData: red first in memory, so last in the number. */
function packed() {
  return Uint32Array.from(
    colours().scale,
    ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0,
  );
}
