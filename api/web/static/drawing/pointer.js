// The tooltip of the box under the pointer.

import { hideTooltip, showTooltip } from "../charts/tooltip.js";
import { shareText } from "./paint.js";

/** Show a tooltip over each box, whether it is pointed at or has the focus. */
export function watchPointer(svg, boxes) {
  svg.addEventListener("pointermove", (event) => {
    const box = boxes.byLink.get(event.target.closest("a"));
    if (box) show(box, event.clientX, event.clientY);
    else hideTooltip();
  });
  svg.addEventListener("pointerleave", hideTooltip);
  svg.addEventListener("focusin", (event) => {
    const box = boxes.byLink.get(event.target.closest("a"));
    if (!box || !box.link.matches(":focus-visible")) return;
    const place = box.rect.getBoundingClientRect();
    show(box, place.right, place.bottom);
  });
  svg.addEventListener("focusout", hideTooltip);
}

function show(box, x, y) {
  const busy = box.kind === "thread" ? [{ label: "busy", value: shareText(box) }] : [];
  showTooltip(box.label, busy, x, y);
}
