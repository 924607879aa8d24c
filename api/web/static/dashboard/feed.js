// The source of the points: a live stream, or one request per panel.

const POINTS = 600;
const AGAIN_MS = 2000;

/**
 * Points of one dashboard. `on` has the functions `window(object)`, `tick(object)`,
 * `problem(text)`, `recovered()`, and `changed()` after a change of the twin.
 */
export class Feed {
  constructor(address, parameters, on) {
    Object.assign(this, { address, parameters, on, source: null, timer: 0 });
  }

  /** Follow the last seconds; earlier requests end. */
  live(seconds) {
    this.stop();
    const points = Math.min(POINTS, seconds);
    const url = `${this.address}/live?${this._query({ seconds, points })}`;
    const source = new EventSource(url);
    this.source = source;
    const hear = (name, act) =>
      source.addEventListener(name, (event) => act(JSON.parse(event.data)));
    hear("window", (data) => this.on.window(data));
    hear("tick", (data) => this.on.tick(data));
    hear("problem", (data) => this.on.problem(data.detail));
    hear("recovered", () => this.on.recovered());
    hear("changed", () => this.on.changed());
    source.addEventListener("open", () => this.on.recovered());
    source.addEventListener("error", () => this._lost(source, seconds));
  }

  /** End the stream and the requests that are under way. */
  stop() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    this.requests?.abort();
    this.requests = new AbortController();
  }

  /** One panel's points between two times; raises an Error that says why not. */
  async range(panel, from, to) {
    const query = this._query({ panel, start: from, end: to, points: POINTS });
    const answer = await this._get(`${this.address}/series?${query}`);
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.detail ?? `HTTP ${answer.status}`);
    return body;
  }

  async _get(url) {
    try {
      return await fetch(url, { signal: this.requests.signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("SuperTwin does not answer; trying again");
    }
  }

  /** The browser tries again by itself, unless it was answered with an error. */
  _lost(source, seconds) {
    if (source !== this.source) return;
    this.on.problem("SuperTwin does not answer; trying again");
    if (source.readyState !== EventSource.CLOSED) return;
    this.timer = setTimeout(() => this.live(seconds), AGAIN_MS);
  }

  _query(more) {
    return new URLSearchParams({ ...this.parameters, ...more });
  }
}
