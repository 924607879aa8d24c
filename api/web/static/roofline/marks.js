// Where the runs that are counted now are in the drawing.

const SVG = "http://www.w3.org/2000/svg";
const WORK = "FLOPs";
const TRAFFIC = "DramTraffic";

/** The sums of the series of each group, such as `run-1 FLOPs`, from a dashboard. */
export class Sums {
  constructor(spec, query) {
    const panels = spec.sections.flatMap((section) => section.panels);
    const drawn = panels.filter((panel) => panel.query === query);
    this.groups = new Map(drawn.map((p) => [p.id, p.series.map((s) => s.group)]));
    this.sums = new Map();
  }

  /** Take one value of each series of a panel; a series without one counts as none. */
  take(panel, values) {
    const groups = this.groups.get(panel);
    if (!groups) return;
    const found = new Map();
    groups.forEach((group, i) => {
      if (values[i] === null || values[i] === undefined) return;
      found.set(group, (found.get(group) ?? 0) + values[i]);
    });
    for (const group of new Set(groups)) this.sums.set(group, found.get(group) ?? null);
  }

  /** Each plan that has both: its operations per byte, and per second. */
  points() {
    const plans = [...this.sums.keys()].map((group) => group.slice(0, group.lastIndexOf(" ")));
    const found = [...new Set(plans)].map((plan) => {
      const rate = this.sums.get(`${plan} ${WORK}`);
      const traffic = this.sums.get(`${plan} ${TRAFFIC}`);
      return { plan, rate, intensity: rate / traffic };
    });
    return found.filter(({ rate, intensity }) => rate > 0 && intensity > 0 && intensity < Infinity);
  }
}

/** A mark for each plan, in a drawing with logarithmic axes. */
export class Marks {
  constructor(svg) {
    this.place = svg.querySelector(".live");
    this.axes = JSON.parse(svg.dataset.axes);
    this.marks = new Map();
  }

  show(points) {
    const plans = new Set(points.map(({ plan }) => plan));
    for (const [plan, mark] of this.marks) {
      if (plans.has(plan)) continue;
      mark.remove();
      this.marks.delete(plan);
    }
    for (const point of points) this._move(point);
  }

  _move({ plan, rate, intensity }) {
    const { x, y } = this.axes;
    const mark = this.marks.get(plan) ?? this._made(plan);
    mark.setAttribute("cx", position(intensity, x));
    mark.setAttribute("cy", position(rate, y));
    mark.querySelector("title").textContent = describe({ plan, rate, intensity });
  }

  _made(plan) {
    const mark = document.createElementNS(SVG, "circle");
    mark.setAttribute("class", "mark");
    mark.setAttribute("r", "7");
    mark.append(document.createElementNS(SVG, "title"));
    this.place.append(mark);
    this.marks.set(plan, mark);
    return mark;
  }
}

/** A point in words. */
export function describe({ plan, rate, intensity }) {
  const gigas = (rate / 1e9).toPrecision(3);
  return `${plan}: ${gigas} GFLOP/s at ${intensity.toPrecision(3)} FLOP/B`;
}

/** Where a value is on an axis; outside of it, at its end. */
function position(value, { low, high, start, end }) {
  const share = Math.log(value / low) / Math.log(high / low);
  return start + Math.min(1, Math.max(0, share)) * (end - start);
}
