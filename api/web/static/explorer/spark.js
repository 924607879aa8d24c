// A line without axes, for one cell of a table.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, EDGE] = [200, 26, 2];

/**
 * @param {(number|null)[]} values at even distances; null leaves a gap
 * @param {string} label what it shows, in words
 * @returns {SVGSVGElement}
 */
export function sparkline(values, label) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  const title = svg.appendChild(document.createElementNS(SVG, "title"));
  title.textContent = label;
  const path = svg.appendChild(document.createElementNS(SVG, "path"));
  path.setAttribute("d", outline(values));
  return svg;
}

function outline(values) {
  const known = values.filter((value) => value !== null);
  const low = Math.min(...known);
  const span = Math.max(...known) - low;
  let pen = "M";
  let path = "";
  values.forEach((value, i) => {
    if (value === null) {
      pen = "M";
      return;
    }
    const x = (i / (values.length - 1)) * WIDTH;
    const share = span ? (value - low) / span : 0.5;
    const y = HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE);
    path += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  });
  return path;
}
