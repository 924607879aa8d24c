// Which CPUs a policy would choose, and why, before anything runs.

import { ask } from "../explorer/api.js";
import { prose } from "../prose.js";

const MOST = 128;
const root = document.documentElement.dataset.root;

/** Shows the answer of `/pin` in an element; only the last request counts. */
export class Preview {
  constructor(place) {
    Object.assign(this, { place, requests: 0 });
  }

  clear() {
    this.requests += 1;
    this.place.replaceChildren();
  }

  /** @param {{host: string, threads: string, policy: string}} request */
  async show(request) {
    this.requests += 1;
    const mine = this.requests;
    const parts = await this._parts(request);
    if (mine === this.requests) this.place.replaceChildren(...parts);
  }

  async _parts(request) {
    try {
      const found = await ask("/pin", request);
      return [cpuList(found.cpus), note("", found.reason), link(request)];
    } catch (error) {
      return [note("error", error.message)];
    }
  }
}

function cpuList(cpus) {
  const list = made("ul", "cpus");
  list.setAttribute("aria-label", `${cpus.length} CPUs`);
  list.append(...cpus.slice(0, MOST).map((cpu) => made("li", "", String(cpu))));
  if (cpus.length > MOST) list.append(made("li", "more", `and ${cpus.length - MOST} more`));
  return list;
}

function link(request) {
  const found = made("a", "", "In the tree, and in every format");
  found.href = `${root}/pin?${new URLSearchParams(request)}`;
  found.target = "_blank";
  return found;
}

function note(name, text) {
  const line = made("p", name);
  line.append(...prose(text));
  return line;
}

function made(tag, name, text = "") {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.textContent = text;
  return element;
}
