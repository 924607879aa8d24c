// Arrow keys in a tree, as the ARIA authoring practices have them.

/**
 * @param {HTMLElement} tree the list with the role
 * @param {{open: Function, close: Function}} actions on an item
 */
export function watchTreeKeys(tree, { open, close }) {
  tree.addEventListener("focusin", (event) => {
    const item = event.target.closest("[role=treeitem]");
    for (const other of tree.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    if (item) item.tabIndex = 0;
  });
  tree.addEventListener("keydown", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = target(tree, item, event.key, { open, close });
    if (next === undefined) return;
    event.preventDefault();
    next?.focus();
  });
}

/** The item to go to, null to stay, undefined where the key means nothing. */
function target(tree, item, key, { open, close }) {
  const items = visible(tree);
  const at = items.indexOf(item);
  const isOpen = item.getAttribute("aria-expanded") === "true";
  switch (key) {
    case "ArrowDown": return items[at + 1] ?? null;
    case "ArrowUp": return items[at - 1] ?? null;
    case "Home": return items[0];
    case "End": return items[items.length - 1];
    case "ArrowRight":
      if (isOpen) return item.querySelector("[role=treeitem]");
      open(item);
      return null;
    case "ArrowLeft":
      if (!isOpen) return item.parentElement.closest("[role=treeitem]");
      close(item);
      return null;
    case "Enter":
      item.querySelector("a").click();
      return null;
    default: return undefined;
  }
}

function visible(tree) {
  return [...tree.querySelectorAll("[role=treeitem]")].filter(
    (item) => item.offsetParent !== null,
  );
}
