// The range of time in the address: `last=15m`, or `from=…&to=…`.

const SECONDS = { s: 1, m: 60, h: 3600, d: 86400 };
const DEFAULT = { last: 300 };
// Longer windows are not followed live.
const LIVE_S = 7 * 86400;
const LONGEST_S = 3650 * 86400;

/** The ranges on the buttons. */
export const PRESETS = ["5m", "15m", "1h", "6h", "24h"];

/**
 * The range in a URL.
 * @param {URLSearchParams} search
 * @param {number} [since] what a range begins at that is not in the address
 * @returns {{since?: number, last?: number, from?: number, to?: number, problem?: string}} in seconds;
 *   `problem` says what was not understood
 */
export function readRange(search, since = 0) {
  const [from, to, last] = ["from", "to", "last"].map((name) => search.get(name));
  if (from !== null || to !== null) return absolute(from, to);
  if (last === null) return since ? { since } : DEFAULT;
  const seconds = readSpan(last);
  if (seconds > LIVE_S) return endingNow(seconds);
  return seconds ? { last: seconds } : invalid(`last=${last}`, "write it as last=15m");
}

/** What is shown of a range that is followed live, when the last points are of a time. */
export function shownOf(range, time) {
  if (range.since) return [range.since, Math.max(time, range.since + 10)];
  return [time - range.last, time];
}

/** Seconds to request from the stream: more for a growing range, so that it lasts a while. */
export function secondsToStream(range) {
  if (!range.since) return range.last;
  const elapsed = Date.now() / 1000 - range.since;
  return Math.min(LIVE_S, Math.max(120, Math.ceil(2 * elapsed)));
}

/** A fixed range: what is longer than a week changes too little to be followed. */
function endingNow(seconds) {
  const to = Math.floor(Date.now() / 1000);
  return { from: to - seconds, to };
}

/** The seconds of `15m`, NaN when it is not a span of 10 s to 10 years. */
export function readSpan(text) {
  const found = /^(\d{1,6})([smhd])$/.exec(text);
  const seconds = found ? Number(found[1]) * SECONDS[found[2]] : NaN;
  return seconds >= 10 && seconds <= LONGEST_S ? seconds : NaN;
}

/** The parameters of an address with this range in place of its own. */
export function writeRange(search, range) {
  const made = new URLSearchParams(search);
  for (const name of ["from", "to", "last"]) made.delete(name);
  if (range.last) made.set("last", writeSpan(range.last));
  else if (!range.since) {
    made.set("from", iso(range.from));
    made.set("to", iso(range.to));
  }
  return made;
}

/** Seconds as `15m`. */
export function writeSpan(seconds) {
  const unit = ["d", "h", "m"].find((name) => seconds % SECONDS[name] === 0 && seconds > 0);
  // A day is written as 24 hours, as on the button.
  if (unit === "d" && seconds === 86400) return "24h";
  return unit ? `${seconds / SECONDS[unit]}${unit}` : `${seconds}s`;
}

function absolute(from, to) {
  const [start, end] = [instant(from), instant(to)];
  if (!(end > start)) {
    return invalid(`from=${from}&to=${to}`, "write from and to as 2026-01-31T14:00:00Z");
  }
  return { from: start, to: end };
}

/** Seconds since 1970 of an ISO time or of a number of seconds; NaN for another text. */
function instant(text) {
  if (!text) return NaN;
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Date.parse(text) / 1000;
}

function iso(seconds) {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}

function invalid(given, fix) {
  return { ...DEFAULT, problem: `the range ${given} is not understood: ${fix}` };
}
