// The boxes of the drawing, and the colours of the threads among them.

import { colours } from "../charts/colours.js";
import { figures } from "../charts/units.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * Find the boxes; their browser tooltips go, since the page has its own.
 * @param {SVGSVGElement} svg
 * @returns {{all: object[], threads: object[], byLink: Map<Element, object>}}
 */
export function prepare(svg) {
  svg.prepend(hatching());
  const all = [...svg.querySelectorAll("a[data-iri]")].map((link) => {
    link.querySelector("title")?.remove();
    return {
      link,
      rect: link.querySelector("rect"),
      iri: link.dataset.iri,
      kind: link.dataset.kind,
      label: link.getAttribute("aria-label"),
      texts: [],
      share: undefined,
    };
  });
  for (const box of all) box.texts = textsAfter(box.link);
  return {
    all,
    threads: all.filter((box) => box.kind === "thread"),
    byLink: new Map(all.map((box) => [box.link, box])),
  };
}

/**
 * Colour every thread by its share; null and what is not there are hatched.
 * @param {object} boxes what prepare found
 * @param {Map<string, number|null>} [shares] by IRI; the last ones without it
 */
export function paintLoad(boxes, shares) {
  const scale = colours().scale;
  for (const box of boxes.threads) {
    if (shares) box.share = shares.get(box.iri) ?? null;
    const colour = box.share == null ? null : scale[Math.round(box.share * 255)];
    box.rect.style.fill = colour ? `rgb(${colour.join(" ")})` : "";
    box.rect.dataset.share = box.share == null ? "" : box.share.toFixed(3);
    for (const text of box.texts) paintText(text, colour);
  }
}

/** The share of a box in words. */
export function shareText(box) {
  if (box.share == null) return "no value";
  return `${figures(box.share * 100, 2)} %`;
}

function paintText(text, colour) {
  const bright = colour && colour[0] * 0.299 + colour[1] * 0.587 + colour[2] * 0.114 > 130;
  text.classList.toggle("on-light", Boolean(colour) && bright);
  text.classList.toggle("on-dark", Boolean(colour) && !bright);
}

function textsAfter(link) {
  const texts = [];
  for (let next = link.nextElementSibling; next?.tagName === "text"; ) {
    texts.push(next);
    next = next.nextElementSibling;
  }
  return texts;
}

function hatching() {
  const defs = element("defs", {});
  const pattern = element("pattern", {
    id: "no-value",
    width: 5,
    height: 5,
    patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  });
  pattern.append(
    element("rect", { width: 5, height: 5, class: "hatch-ground" }),
    element("line", { x1: 0, y1: 0, x2: 0, y2: 5, class: "hatch-line" }),
  );
  defs.append(pattern);
  return defs;
}

function element(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
