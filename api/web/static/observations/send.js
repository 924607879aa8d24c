// Requests that change something, with the session of the browser.

import { prose } from "../prose.js";

const root = document.documentElement.dataset.root ?? "";

/**
 * @param {string} method such as `POST`
 * @param {string} path below the root of the site
 * @param {object} [body] sent as JSON
 * @param {AbortSignal} [signal]
 * @returns {Promise<object>} the JSON answered
 * @throws {Error} whose message is the detail of the problem; `status` is HTTP's
 */
export async function send(method, path, body, signal) {
  let response;
  try {
    response = await fetch(`${root}${path}`, {
      method,
      signal,
      headers: { Accept: "application/json", "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("SuperTwin does not answer: is it running?");
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const detail = answer.detail ?? `status ${response.status}`;
  throw Object.assign(new Error(detail), { status: response.status });
}

/** Show a problem in its place, with a link to log in if that is missing. */
export function showProblem(place, error, goal) {
  place.hidden = !error;
  place.replaceChildren(...prose(error?.message ?? ""));
  if (error?.status !== 401) return;
  const link = document.createElement("a");
  link.href = `${root}/login?${new URLSearchParams({ next: goal })}`;
  link.textContent = "Log in";
  place.append(" ", link);
}
