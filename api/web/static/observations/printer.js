// The output of a command as it arrives: both streams in one place, distinguishable.

import { formatValue } from "../charts/units.js";
import { visible } from "./visible.js";

// A page that holds more becomes slow; the record keeps the first and the last MiB.
const MOST = 2_000_000;
const NEAR_PX = 24;

/** Appends to a `pre`, with the next frame of the screen. */
export class Printer {
  constructor(place) {
    Object.assign(this, { place, waiting: [], size: 0, cut: false });
    this.restart();
  }

  /** Begin with the output of another run. */
  restart() {
    this.decoders = { stdout: decoder(), stderr: decoder() };
    this.returned = { stdout: false, stderr: false };
  }

  /** Bytes of one of the streams. */
  print(stream, bytes) {
    this._add(stream, this._lines(stream, this.decoders[stream].decode(bytes, { stream: true })));
  }

  /** A line of ours between those of the command. */
  say(text) {
    this._add("remark", `${text}\n`);
  }

  /** A carriage return overwrites a line on a terminal; here it begins another one. */
  _lines(stream, text) {
    const whole = this.returned[stream] ? `\r${text}` : text;
    this.returned[stream] = whole.endsWith("\r");
    const known = this.returned[stream] ? whole.slice(0, -1) : whole;
    return visible(known.replace(/\r\n?/g, "\n"));
  }

  _add(stream, text) {
    if (!text) return;
    if (!this.waiting.length) requestAnimationFrame(() => this._draw());
    this.waiting.push([stream, text]);
  }

  _draw() {
    const { place } = this;
    const follows = place.scrollHeight - place.scrollTop - place.clientHeight < NEAR_PX;
    for (const [stream, text] of this.waiting.splice(0)) this._append(stream, text);
    while (this.size > MOST && place.childElementCount > 1) this._drop();
    if (follows) place.scrollTop = place.scrollHeight;
  }

  _append(stream, text) {
    const span = document.createElement("span");
    span.className = stream;
    // Of a single too long line, keep the end.
    span.textContent = text.slice(-MOST);
    if (stream === "stderr") span.title = "standard error";
    this.size += span.textContent.length;
    this.place.append(span);
  }

  _drop() {
    const first = this.place.firstElementChild;
    this.size -= first.textContent.length;
    first.remove();
  }
}

/** The bytes of a text in base64. */
export function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
}

/** Bytes as `17 B`, `1.25 MiB`. */
export function formatSize(bytes) {
  return formatValue(bytes, { symbol: "B", prefixes: "binary" });
}

function decoder() {
  return new TextDecoder("utf-8");
}
