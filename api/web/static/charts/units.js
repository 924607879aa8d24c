// Numbers as people read them: three figures, a prefix, a unit.

const DECIMAL = ["", "k", "M", "G", "T", "P", "E"];
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const SMALL = ["", "m", "µ", "n", "p"];
const BINARY_STEPS = Array.from({ length: 70 }, (_, i) => 2 ** (i - 10));

/**
 * A value with its unit, such as `1.21 GiB`; what is no number is a dash.
 * @param {number|null} value
 * @param {{symbol: string, grafana: string, prefixes: string}|null} unit
 * @returns {string}
 */
export function formatValue(value, unit) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (unit === null) return figures(value);
  if (unit.grafana === "percentunit") return `${figures(value * 100)} %`;
  const [scaled, prefix] = scale(value, unit);
  const symbol = prefix + unit.symbol;
  return symbol ? `${figures(scaled)} ${symbol}` : figures(scaled);
}

/** A value that may be bounded, and then what was measured. */
export function formatMeasured(value, measured, unit) {
  const text = formatValue(value, unit);
  if (measured === undefined) return text;
  const more = formatValue(measured, unit);
  return more === text ? `${text} (bounded)` : `${text} (measured ${more})`;
}

/**
 * Labels of an axis: as many digits as it takes to tell the ticks apart.
 * @returns {string[]}
 */
export function formatTicks(values, unit) {
  const percent = unit?.grafana === "percentunit";
  const largest = Math.max(...values.map(Math.abs), 0);
  const [, prefix, factor] = unit && !percent ? scale(largest, unit) : [0, "", 1];
  const by = percent ? 100 : 1 / factor;
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

function scale(value, unit) {
  const size = Math.abs(value);
  if (unit.prefixes === "none" || size === 0) return [value, "", 1];
  const base = unit.prefixes === "binary" ? 1024 : 1000;
  const names = base === 1024 ? BINARY : DECIMAL;
  if (size >= 1) {
    const power = Math.min(names.length - 1, Math.floor(Math.log(size) / Math.log(base) + 1e-9));
    return [value / base ** power, names[power], base ** power];
  }
  // A thousandth of a count, or of a byte, is no unit that anybody uses.
  if (base === 1024 || !unit.symbol || unit.symbol.startsWith("/")) return [value, "", 1];
  const power = Math.min(SMALL.length - 1, Math.ceil(-Math.log10(size) / 3 - 1e-9));
  return [value * 1000 ** power, SMALL[power], 1000 ** -power];
}

function figures(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e6 || size < 1e-3) return trimmed(value.toPrecision(3));
  const digits = Math.max(0, 2 - Math.floor(Math.log10(size)));
  return trimmed(value.toFixed(Math.min(digits, 5)));
}

function trimmed(text) {
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}
