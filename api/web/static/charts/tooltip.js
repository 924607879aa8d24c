// The one tooltip of a page, next to the pointer and never under it.

const MARGIN = 14;
let box = null;

/**
 * Show lines at a place in the window.
 * @param {string} title such as a time
 * @param {{label: string, value: string, colour?: string, strong?: boolean}[]} lines
 */
export function showTooltip(title, lines, x, y, more = "") {
  box ??= document.body.appendChild(made("div", "tooltip"));
  const rows = lines.map((line) => {
    const row = made("div", line.strong ? "tip-line strong" : "tip-line");
    const swatch = made("span", "swatch");
    if (line.colour) swatch.style.background = line.colour;
    row.append(swatch, made("span", "tip-label", line.label));
    row.append(made("span", "tip-value", line.value));
    return row;
  });
  box.replaceChildren(made("div", "tip-title", title), ...rows);
  if (more) box.append(made("div", "tip-more", more));
  place(x, y);
}

/** Hide it. */
export function hideTooltip() {
  if (box) box.hidden = true;
}

function place(x, y) {
  box.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = box;
  const { clientWidth, clientHeight } = document.documentElement;
  const left = x + MARGIN + width > clientWidth ? x - MARGIN - width : x + MARGIN;
  const top = Math.min(y + MARGIN, clientHeight - height - 4);
  box.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}

function made(tag, name, text = "") {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}
