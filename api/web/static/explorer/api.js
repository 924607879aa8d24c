// Requests to the API, with errors as one readable line.

/**
 * @param {string} path below the root of the site, such as `/why`
 * @param {Record<string, string>} parameters
 * @returns {Promise<object>} the JSON answered
 * @throws {Error} whose message is the detail of the problem
 */
export async function ask(path, parameters) {
  const root = document.documentElement.dataset.root ?? "";
  const url = `${root}${path}?${new URLSearchParams(parameters)}`;
  let response;
  try {
    response = await fetch(url, { headers: { Accept: "application/json" } });
  } catch {
    throw new Error("SuperTwin does not answer; trying again.");
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.detail ?? `status ${response.status}`);
  return body;
}
