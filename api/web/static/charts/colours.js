// Colours of the theme, read once per theme.

const STOPS = 10;
let cached = null;

document.addEventListener("themechange", () => {
  cached = null;
});

/**
 * The theme's colours: `text`, `muted`, `grid`, `line`, `panel`, `accent`, `missing`,
 * `series` (eight), and `scale` (256 colours from low to high, each [r, g, b]).
 */
export function colours() {
  cached ??= read();
  return cached;
}

/** The colour of the nth series of a panel. */
export function seriesColour(index) {
  return colours().series[index % 8];
}

/** A colour mixed with that of the panel behind it; part 1 leaves it as it is. */
export function tint(colour, part) {
  const [over, under] = [channels(colour), channels(colours().panel)];
  const mixed = over.map((c, i) => Math.round(c * part + under[i] * (1 - part)));
  return `rgb(${mixed.join(" ")})`;
}

function read() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["text", "muted", "grid", "line", "panel", "accent", "missing"];
  return {
    ...Object.fromEntries(names.map((name) => [name, of(name)])),
    series: Array.from({ length: 8 }, (_, i) => of(`c${i}`)),
    scale: ramp(Array.from({ length: STOPS }, (_, i) => channels(of(`s${i}`)))),
  };
}

function ramp(stops) {
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (STOPS - 1);
    const low = Math.min(Math.floor(at), STOPS - 2);
    return stops[low].map((c, k) => Math.round(c + (stops[low + 1][k] - c) * (at - low)));
  });
}

/** Red, green and blue of `#rrggbb`. */
function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}
