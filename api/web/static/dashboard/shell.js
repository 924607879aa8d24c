// The frame of one panel: its title, its notes, and the place for its picture.

import { prose } from "../prose.js";

// A row of the grid with the gap below it.
const ROW_PX = 34;

/**
 * The elements of a panel.
 * @param panel of the spec
 * @param {string} query address of the saved query behind it
 */
export function panelShell(panel, query) {
  const root = made("section", `panel draws-${panel.picture}`);
  root.id = `panel-${panel.id}`;
  root.style.gridColumn = `span ${Math.min(24, panel.width)}`;
  root.style.gridRow = `span ${units(panel)}`;
  const head = root.appendChild(made("header", "panel-head"));
  const title = head.appendChild(made("h3", "", panel.title));
  title.id = `${root.id}-title`;
  title.title = panel.description;
  root.setAttribute("aria-labelledby", title.id);
  const tools = head.appendChild(made("span", "panel-tools"));
  const source = tools.appendChild(made("a", "panel-query", "Query"));
  source.href = query;
  source.title = `${panel.query}: ${panel.description}`;
  const body = root.appendChild(made("div", "panel-body"));
  const message = made("div", "panel-message");
  message.hidden = true;
  root.append(message);
  const legend = drawsLines(panel) ? root.appendChild(legendPlace(panel)) : null;
  return { root, tools, body, message, legend };
}

/** Notes that unfold over the picture, so that nothing moves. */
export function notes(lines) {
  const details = made("details", "notes");
  const text = lines.length === 1 ? "1 note" : `${lines.length} notes`;
  details.append(made("summary", "", text), listed(lines));
  return details;
}

/** A list of texts. */
export function listed(lines) {
  const list = made("ul", "");
  for (const line of lines) list.appendChild(made("li")).append(...prose(line));
  return list;
}

/** A group of buttons with one pressed. */
export function choice(label, names, chosen, choose) {
  const group = made("span", "choice");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  const buttons = names.map((name) => {
    const button = group.appendChild(made("button", "", name));
    button.type = "button";
    button.addEventListener("click", () => press(name));
    return button;
  });
  const mark = (name) =>
    buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(names[i] === name)));
  const press = (name) => {
    mark(name);
    choose(name);
  };
  mark(chosen);
  return group;
}

/** An element with a class and a text. */
export function made(tag, name = "", text = "") {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text) element.textContent = text;
  return element;
}

/** The height of a panel in rows of the grid; a table takes no more than it fills. */
function units(panel) {
  if (panel.picture !== "table") return panel.height;
  const rows = panel.table?.rows.length ?? 0;
  const filled = rows ? Math.ceil((74 + rows * 27) / ROW_PX) : 3;
  return Math.min(panel.height, Math.max(3, filled));
}

/** The place of a legend is as tall as it will be, so that nothing moves later. */
function legendPlace(panel) {
  const place = made("div", "legend");
  const lines = panel.series.length > 16 ? 1 : legendLines(panel);
  place.style.height = `${Math.min(3, lines) * 18 + 2}px`;
  return place;
}

/** How many lines the entries fill, as far as one can know before they are drawn. */
function legendLines({ series, width }) {
  const room = Math.min(24, width) * 50 - 22;
  let [lines, used] = [1, 0];
  for (const { label } of series) {
    const wide = Math.min(210, label.length * 6.8) + 82;
    if (used && used + wide > room) [lines, used] = [lines + 1, 0];
    used += wide;
  }
  return lines;
}

function drawsLines(panel) {
  return panel.picture === "timeseries" && panel.series.length > 0;
}
