// Times as text, in the reader's own time zone.

const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** Seconds since 1970 as `14:03:20`, with the day where it is not today. */
export function formatTime(seconds) {
  const date = new Date(seconds * 1000);
  const clock = CLOCK.format(date);
  const today = DAY.format(new Date()) === DAY.format(date);
  return today ? clock : `${DAY.format(date)}, ${clock}`;
}

/**
 * A time on an axis, as exactly as the distance between its ticks asks for.
 * @param {number} seconds since 1970
 * @param {number} step seconds between two ticks
 */
export function formatTick(seconds, step) {
  const date = new Date(seconds * 1000);
  const clock = CLOCK.format(date);
  if (step < 60) return clock;
  const midnight = date.getHours() === 0 && date.getMinutes() === 0;
  return step >= 86400 || midnight ? DAY.format(date) : clock.slice(0, 5);
}

/** Seconds since 1970 as `21 Nov 2026, 14:03`. */
export function formatMoment(seconds) {
  const date = new Date(seconds * 1000);
  return `${DAY.format(date)} ${date.getFullYear()}, ${CLOCK.format(date).slice(0, 5)}`;
}

/** Seconds as `12 s`, `5 min`, `3 h` or `2 d`. */
export function formatAge(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}
