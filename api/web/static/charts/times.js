// Times as text, in the time zone that the reader chose: the browser's or UTC.

const KEY = "supertwin-zone";
// They take the local time of the zone as if it were UTC.
const AS_IT_STANDS = { timeZone: "UTC" };
const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  ...AS_IT_STANDS,
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", ...AS_IT_STANDS });

let zone = kept();

function kept() {
  try {
    return localStorage.getItem(KEY) === "utc" ? "utc" : "browser";
  } catch {
    return "browser"; // Storage can be forbidden.
  }
}

/** `browser` or `utc`. */
export function chosenZone() {
  return zone;
}

/** Choose `browser` or `utc`, and keep it. */
export function chooseZone(next) {
  zone = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // It then holds for this page only.
  }
}

/** The name of the zone, such as `Europe/Berlin`. */
export function zoneName() {
  return zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Seconds by which a clock in the zone is ahead of UTC, at a time. */
export function zoneOffset(seconds) {
  return zone === "utc" ? 0 : -60 * new Date(seconds * 1000).getTimezoneOffset();
}

/** What a clock in the zone shows at a time, read by the Date's methods for UTC. */
function wall(seconds) {
  return new Date((seconds + zoneOffset(seconds)) * 1000);
}

/** The value of a `datetime-local` field for a time. */
export function fieldOf(seconds) {
  return wall(seconds).toISOString().slice(0, 19);
}

/** Seconds since 1970 of the value of a `datetime-local` field, NaN for an empty one. */
export function ofField(text, written = zone) {
  return Date.parse(written === "utc" ? `${text}Z` : text) / 1000;
}

/** Seconds since 1970 as `14:03:20`, with the day where it is not today. */
export function formatTime(seconds) {
  const date = wall(seconds);
  const clock = CLOCK.format(date);
  const today = DAY.format(wall(Date.now() / 1000)) === DAY.format(date);
  return today ? clock : `${DAY.format(date)}, ${clock}`;
}

/**
 * A time on an axis, as precise as the distance between its ticks requires.
 * @param {number} seconds since 1970
 * @param {number} step seconds between two ticks
 */
export function formatTick(seconds, step) {
  const date = wall(seconds);
  const clock = CLOCK.format(date);
  if (step < 60) return clock;
  const midnight = date.getUTCHours() === 0 && date.getUTCMinutes() === 0;
  return step >= 86400 || midnight ? DAY.format(date) : clock.slice(0, 5);
}

/** Show the time of a `time` element: `2026-11-21 14:03:20`, and the zone as its title. */
export function showTime(element) {
  const seconds = Date.parse(element.dateTime) / 1000;
  if (!Number.isFinite(seconds)) return;
  const text = wall(seconds).toISOString().replace("T", " ");
  element.textContent = text.slice(0, 19);
  element.title = `${text.replace(/(\.000)?Z$/, "")} ${zoneName()}`;
}

/** A `time` element for an ISO time. */
export function timeElement(text) {
  const element = document.createElement("time");
  element.dateTime = text;
  showTime(element);
  return element;
}

/** Seconds as `12 s`, `5 min`, `3 h` or `2 d`. */
export function formatAge(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** Distances between ticks of times since a start: round in seconds, then in minutes and hours. */
export const SINCE_STEPS = [
  ...[1e-4, 1e-3, 1e-2, 1e-1].flatMap((step) => [step, 2 * step, 5 * step]),
  ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800],
  ...[1, 2, 3, 6, 12, 24, 48, 96, 192].map((hours) => 3600 * hours),
];

/**
 * A time since a start, as precise as a step requires: `0.25 s`, `2:05`.
 * @param {number} seconds since the start, or before it
 * @param {number} step seconds between two times that must be distinguishable
 */
export function formatSince(seconds, step) {
  const digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(step || 1) + 1e-9)));
  const sign = seconds < 0 ? "−" : "";
  const size = Math.abs(seconds);
  if (step < 30 && size < 600) return `${sign}${size.toFixed(digits)} s`;
  const whole = Math.round(size);
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = two(whole % 60);
  return hours ? `${sign}${hours}:${two(minutes)}:${rest}` : `${sign}${minutes}:${rest}`;
}
