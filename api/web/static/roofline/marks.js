// Where the runs that are counted now are in the drawing.

const SVG = "http://www.w3.org/2000/svg";
const WORK = "FLOPs";
const TRAFFIC = "DramTraffic";

/** The sums of the series of each plan and role, from a dashboard. */
export class Sums {
  constructor(spec, query) {
    const panels = spec.sections.flatMap((section) => section.panels);
    const drawn = panels.filter((panel) => panel.query === query);
    this.series = new Map(drawn.map((panel) => [panel.id, panel.series.map(partOf)]));
    this.sums = new Map();
    this.cpus = new Map();
  }

  /** The plans that have series. */
  get plans() {
    const every = [...this.series.values()].flat();
    return new Set(every.map(({ plan }) => plan));
  }

  /** Count only some CPUs for a plan, as its run is bound to them; all if there are none. */
  limit(plan, cpus) {
    if (cpus.length) this.cpus.set(plan, new Set(cpus.map((cpu) => `cpu${cpu}`)));
  }

  /** Take one value of each series of a panel; null where there is none. */
  take(panel, values) {
    const series = this.series.get(panel) ?? [];
    const found = new Map();
    series.forEach(({ plan, role, scope, instance }, i) => {
      const cpus = this.cpus.get(plan);
      const isOther = scope === "thread" && cpus && !cpus.has(instance);
      const value = isOther ? null : (values[i] ?? null);
      const key = `${plan} ${role}`;
      found.set(key, value === null ? (found.get(key) ?? null) : (found.get(key) ?? 0) + value);
    });
    for (const [key, sum] of found) this.sums.set(key, sum);
  }

  /** Each plan that has both: its operations per byte, and per second. */
  points() {
    const found = [...this.plans].map((plan) => {
      const rate = this.sums.get(`${plan} ${WORK}`);
      const traffic = this.sums.get(`${plan} ${TRAFFIC}`);
      return { plan, rate, intensity: rate / traffic };
    });
    return found.filter(({ rate, intensity }) => rate > 0 && intensity > 0 && intensity < Infinity);
  }
}

/** What a series is a part of: its group is `PLAN ROLE SCOPE`. */
function partOf({ group, instname }) {
  const words = group.split(" ");
  const [role, scope] = words.splice(-2);
  return { plan: words.join(" "), role, scope, instance: instname };
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
