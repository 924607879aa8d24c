// An elapsed time as text.

/** Seconds as `12.3 s`, `1:05 min` or `2:03:20 h`. */
export function formatElapsed(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${Math.max(0, seconds).toFixed(1)} s`;
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const two = (number) => String(number).padStart(2, "0");
  const rest = two(whole % 60);
  return hours ? `${hours}:${two(minutes)}:${rest} h` : `${minutes}:${rest} min`;
}
