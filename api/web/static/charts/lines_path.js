// Paths of lines over typed arrays, where NaN is a gap.

/** From values to canvas pixels, for a chart of uPlot. */
export function projection(u) {
  const { x, y } = u.scales;
  const { left, top, width, height } = u.bbox;
  const perX = width / (x.max - x.min);
  const perY = height / (y.max - y.min);
  return {
    x: (value) => left + (value - x.min) * perX,
    y: (value) => top + height - (value - y.min) * perY,
    bottom: top + height,
    right: left + width,
  };
}

/**
 * The line of one series; broken at NaN and where more than two steps are missing.
 * A single point is drawn as a short dash, to be visible.
 */
export function linePath(u, index, step) {
  const [xs, ys] = [u.data[0], u.data[index]];
  const to = projection(u);
  const path = new Path2D();
  let begun = -1;
  for (let i = 0; i < xs.length; i++) {
    if (Number.isNaN(ys[i])) {
      begun = -1;
      continue;
    }
    const [x, y] = [to.x(xs[i]), to.y(ys[i])];
    const joined = begun >= 0 && xs[i] - xs[i - 1] <= 2.5 * step;
    if (joined) {
      path.lineTo(x, y);
      continue;
    }
    begun = i;
    const alone = i + 1 >= xs.length || Number.isNaN(ys[i + 1]);
    path.moveTo(alone ? x - 1.5 : x, y);
    if (alone) path.lineTo(x + 1.5, y);
  }
  return path;
}

/** A small triangle at the top of a chart over each time at which a value is bounded. */
export function boundedPath(u, times) {
  const to = projection(u);
  const { top } = u.bbox;
  const size = 4 * devicePixelRatio;
  const path = new Path2D();
  for (const x of times.map(to.x)) {
    if (x < u.bbox.left || x > to.right) continue;
    path.moveTo(x - size, top);
    path.lineTo(x + size, top);
    path.lineTo(x, top + 1.5 * size);
    path.closePath();
  }
  return path;
}

/** The area between two series of a chart, or down to zero without a lower one. */
export function areaPath(u, upper, lower, step) {
  const xs = u.data[0];
  const [high, low] = [u.data[upper], lower === null ? null : u.data[lower]];
  const to = projection(u);
  const floor = Math.min(to.bottom, to.y(0));
  const path = new Path2D();
  let start = 0;
  const close = (end) => {
    if (end - start < 1) return;
    path.moveTo(to.x(xs[start]), to.y(high[start]));
    for (let i = start + 1; i < end; i++) path.lineTo(to.x(xs[i]), to.y(high[i]));
    for (let i = end - 1; i >= start; i--) {
      path.lineTo(to.x(xs[i]), low ? to.y(low[i]) : floor);
    }
    path.closePath();
  };
  for (let i = 0; i < xs.length; i++) {
    const hole = Number.isNaN(high[i]);
    if (hole || (i > start && xs[i] - xs[i - 1] > 2.5 * step)) {
      close(i);
      start = hole ? i + 1 : i;
    }
  }
  close(xs.length);
  return path;
}
