// A field that holds several texts, each as a chip that can be removed.

import { visible } from "./visible.js";

/** Enter adds the text, and so does leaving the field; `split` adds several at once. */
export class Chips {
  constructor(input, { split = null, known = [] } = {}) {
    Object.assign(this, { input, split, texts: [] });
    this.list = document.createElement("ul");
    this.list.className = "chosen";
    input.before(this.list);
    for (const text of known) this._add(text);
    input.addEventListener("keydown", (event) => this._key(event));
    input.addEventListener("change", () => this.take());
  }

  /** All texts, including the one in the field. */
  get values() {
    this.take();
    return [...this.texts];
  }

  /** Make chips of the text in the field. */
  take() {
    const text = this.input.value.trim();
    this.input.value = "";
    const parts = this.split ? text.split(this.split) : [text];
    for (const part of parts.filter(Boolean)) this._add(part);
  }

  _add(text) {
    if (this.texts.includes(text)) return;
    this.texts.push(text);
    const item = this.list.appendChild(document.createElement("li"));
    item.append(visible(text));
    const button = item.appendChild(document.createElement("button"));
    button.type = "button";
    button.textContent = "×";
    button.setAttribute("aria-label", `Remove ${text}`);
    button.addEventListener("click", () => this._remove(text, item));
  }

  _remove(text, item) {
    this.texts = this.texts.filter((other) => other !== text);
    item.remove();
    this.input.focus();
  }

  _key(event) {
    if (event.key === "Enter" && this.input.value.trim()) {
      event.preventDefault();
      this.take();
    } else if (event.key === "Backspace" && !this.input.value && this.texts.length) {
      this._remove(this.texts.at(-1), this.list.lastElementChild);
    }
  }
}
