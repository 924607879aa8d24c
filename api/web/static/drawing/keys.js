// One tab stop for the whole drawing; the arrow keys go from box to box, first to those of
// the same kind: from thread to thread, from core to core.

const WAYS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Make the boxes reachable by keyboard; Enter follows the link as ever. */
export function watchKeys(svg, boxes) {
  for (const box of boxes.all) box.link.setAttribute("tabindex", "-1");
  const marked = svg.querySelector("rect.marked")?.closest("a");
  let current = boxes.byLink.get(marked) ?? boxes.threads[0] ?? boxes.all[0];
  if (!current) return;
  current.link.setAttribute("tabindex", "0");
  svg.addEventListener("focusin", (event) => {
    const box = boxes.byLink.get(event.target.closest("a"));
    if (!box || box === current) return;
    current.link.setAttribute("tabindex", "-1");
    box.link.setAttribute("tabindex", "0");
    current = box;
  });
  svg.addEventListener("keydown", (event) => {
    const way = WAYS[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const alike = boxes.all.filter((box) => box.link.dataset.kind === current.link.dataset.kind);
    const next = neighbour(current, alike, way) ?? nearest(current, boxes.all, way);
    if (next) next.link.focus();
  });
}

/** The nearest of the same kind in the same row or column. */
function neighbour(from, alike, way) {
  const start = middle(from);
  const reach = way[0] ? size(from).height / 2 : size(from).width / 2;
  const inLine = alike.filter((box) => {
    const end = middle(box);
    return Math.abs(way[0] ? end.y - start.y : end.x - start.x) < reach;
  });
  return nearest(from, inLine, way);
}

function nearest(from, all, [x, y]) {
  const start = middle(from);
  let best = null;
  let least = Infinity;
  for (const box of all) {
    const end = middle(box);
    const along = (end.x - start.x) * x + (end.y - start.y) * y;
    const aside = Math.abs((end.x - start.x) * y) + Math.abs((end.y - start.y) * x);
    const cost = along + 3 * aside;
    if (box !== from && along > 0.5 && cost < least) [best, least] = [box, cost];
  }
  return best;
}

function middle({ rect }) {
  const { x, y, width, height } = size({ rect });
  return { x: x + width / 2, y: y + height / 2 };
}

function size({ rect }) {
  const of = (name) => Number(rect.getAttribute(name));
  return { x: of("x"), y: of("y"), width: of("width"), height: of("height") };
}
