// Numbers as people read them, by the rules of `ontology/figures.py` and `dashboards/units.py`.

const [SMALLEST, LARGEST] = [1e-4, 1e15];
const LARGE = ["k", "M", "G", "T", "P", "E"];
const SMALL = ["m", "µ", "n", "p"];
// The step between two prefixes, those of large numbers and those of small ones.
const PREFIXES = {
  binary: [1024, ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"], []],
  decimal: [1000, LARGE, []],
  metric: [1000, LARGE, SMALL],
  parts: [1000, [], SMALL],
  none: [1, [], []],
};
const BINARY_STEPS = Array.from({ length: 70 }, (_, i) => 2 ** (i - 10));

/**
 * A value with its unit, such as `1.21 GiB`; what is not a number is a dash.
 * @param {number|null} value
 * @param {{symbol: string, grafana: string, prefixes: string}|null} unit
 * @returns {string}
 */
export function formatValue(value, unit) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (unit === null) return figures(value);
  if (unit.grafana === "percentunit") return `${figures(value * 100)} %`;
  const [scaled, prefix] = prefixed(value, unit);
  return `${figures(scaled)} ${prefix}${unit.symbol}`.trim();
}

/** A value that may be bounded, and then what was measured. */
export function formatMeasured(value, measured, unit) {
  const text = formatValue(value, unit);
  if (measured === undefined) return text;
  const more = formatValue(measured, unit);
  return more === text ? `${text} (bounded)` : `${text} (measured ${more})`;
}

/**
 * Labels of an axis: as many digits as needed to distinguish the ticks.
 * @returns {string[]}
 */
export function formatTicks(values, unit) {
  const percent = unit?.grafana === "percentunit";
  const largest = Math.max(...values.map(Math.abs), 0);
  const [scaled, prefix] = unit && !percent ? prefixed(largest, unit) : [largest, ""];
  const by = percent ? 100 : largest ? scaled / largest : 1;
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) * by : 0;
  const digits = decimals(step);
  const symbol = percent ? "%" : unit ? prefix + unit.symbol : "";
  return values.map((value) => {
    const text = trimmed((value * by).toFixed(digits));
    return symbol && text !== "0" ? `${text} ${symbol}` : text;
  });
}

/** Distances between ticks that fit a unit; undefined leaves it to the chart. */
export function tickSteps(unit) {
  return unit?.prefixes === "binary" ? BINARY_STEPS : undefined;
}

/** Digits after the point that a step needs: 2 for 0.25. */
function decimals(step) {
  let digits = 0;
  while (digits < 6 && Math.abs(step - Number(step.toFixed(digits))) > step / 1e3) digits += 1;
  return digits;
}

/** By what is shown, not by the value: rounding must not give 1024 KiB. */
function prefixed(number, unit) {
  const [step, large, small] = PREFIXES[unit.prefixes];
  let [value, prefix] = [number, ""];
  for (const larger of large) {
    if (Math.abs(Number(figures(value))) < step) break;
    [value, prefix] = [value / step, larger];
  }
  for (const smaller of small) {
    if (!value || Math.abs(Number(figures(value))) >= 1) break;
    [value, prefix] = [value * step, smaller];
  }
  return [value, prefix];
}

/** Whole numbers exactly, others with so many digits; no digit before the point is dropped. */
export function figures(value, digits = 4) {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < LARGEST) return String(value);
  if (size < SMALLEST || size >= LARGEST) return trimmed(value.toExponential(digits - 1));
  const power = Number(value.toExponential().split("e")[1]);
  return trimmed(value.toFixed(Math.max(digits - 1 - power, 0)));
}

/** Without zeros at the end of a fraction. */
function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+(?=e|$)/, "") : text;
}
