// Polls a URL while the page is visible.

/**
 * @param {string} url answers JSON
 * @param {number} every milliseconds between an answer and the next question
 * @param {(answer: object) => void} take a failure comes as `{busy: {}, problem}`
 */
export function poll(url, every, take) {
  let timer = 0;

  async function ask() {
    clearTimeout(timer);
    if (!document.hidden) take(await answer(url));
    timer = setTimeout(ask, every);
  }

  document.addEventListener("visibilitychange", () => document.hidden || ask());
  ask();
}

async function answer(url) {
  try {
    const response = await fetch(url, { headers: { Accept: "application/json" } });
    const body = await response.json();
    return response.ok ? body : { busy: {}, problem: body.detail };
  } catch {
    return { busy: {}, problem: "SuperTwin does not answer; trying again." };
  }
}
