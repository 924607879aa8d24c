// The hierarchy of a host as a tree: each level is loaded when it is opened.

import { ask } from "./api.js";
import { watchTreeKeys } from "./tree_keys.js";
import { showProse } from "../prose.js";

// Kinds that are not part of their components' labels.
const UNNAMED = { disk: "disk", nic: "network", gpu: "GPU" };

/**
 * Make the path that the server wrote a tree that opens.
 * @param {HTMLElement} nav with the IRIs of the host and of the current component
 */
export async function growTree(nav) {
  const path = [...nav.querySelectorAll("a")].map((link) => ({
    href: link.getAttribute("href"),
    label: link.textContent,
    iri: link.getAttribute("href"),
    parts: 1,
  }));
  path[0].iri = nav.dataset.host;
  const top = document.createElement("ul");
  top.setAttribute("role", "tree");
  top.setAttribute("aria-label", nav.getAttribute("aria-label"));
  const root = top.appendChild(treeItem(path[0]));
  watchTreeKeys(top, { open, close });
  const opened = await openAlong(root, path.slice(1).map((part) => part.href));
  nav.replaceChildren(top);
  const current = opened ?? root;
  current.setAttribute("aria-current", "page");
  current.tabIndex = 0;
  current.querySelector(".row").scrollIntoView({ block: "nearest" });
}

/** Open an item; its parts are loaded the first time. */
export async function open(item) {
  if (item.classList.contains("leaf")) return;
  item.setAttribute("aria-expanded", "true");
  if (!item.querySelector(":scope > ul")) await load(item);
}

/** Close an item; its parts stay known. */
export function close(item) {
  item.setAttribute("aria-expanded", "false");
}

async function openAlong(root, hrefs) {
  let item = root;
  await open(item);
  for (const href of hrefs) {
    const next = [...item.querySelectorAll(":scope > ul > li")].find(
      (child) => child.dataset.href === href,
    );
    if (!next) return item;
    item = next;
    await open(item);
  }
  return item;
}

async function load(item) {
  const list = item.appendChild(document.createElement("ul"));
  list.setAttribute("role", "group");
  try {
    const { parts } = await ask("/explorer/parts", { iri: item.dataset.iri });
    list.replaceChildren(...parts.map(treeItem));
  } catch (error) {
    list.remove();
    close(item);
    const line = document.createElement("p");
    line.className = "problem";
    showProse(line, error.message);
    item.querySelector(":scope > .problem")?.remove();
    item.append(line);
  }
}

function treeItem(part) {
  const item = document.createElement("li");
  item.setAttribute("role", "treeitem");
  item.tabIndex = -1;
  item.dataset.iri = part.iri;
  item.dataset.href = part.href;
  const row = item.appendChild(document.createElement("div"));
  row.className = "row";
  row.append(twist(item, part), link(part));
  if (UNNAMED[part.kind]) row.append(hint(UNNAMED[part.kind]));
  if (part.parts) item.setAttribute("aria-expanded", "false");
  else item.classList.add("leaf");
  return item;
}

function hint(text) {
  const made = document.createElement("span");
  made.className = "hint";
  made.textContent = text;
  return made;
}

function twist(item, part) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "twist";
  button.tabIndex = -1;
  button.setAttribute("aria-hidden", "true");
  button.disabled = !part.parts;
  button.addEventListener("click", () =>
    item.getAttribute("aria-expanded") === "true" ? close(item) : open(item),
  );
  return button;
}

function link(part) {
  const made = document.createElement("a");
  made.href = part.href;
  made.textContent = part.label;
  made.title = part.label;
  made.tabIndex = -1;
  return made;
}
