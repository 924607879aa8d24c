// A small line without axes, which fills its canvas.

import { seriesColour, tint } from "./colours.js";
import { extent } from "./lines_data.js";

/**
 * Draw values over a range of time; `limits` are those of the values, from zero to the
 * highest when they are not given.
 */
export function drawSpark(canvas, times, values, [from, to], limits = null) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!width || !height) return;
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  const pen = canvas.getContext("2d");
  pen.scale(devicePixelRatio, devicePixelRatio);
  const [low, high] = limits ?? ends(values);
  const x = (time) => ((time - from) / (to - from)) * width;
  const y = (value) => height - 1 - ((value - low) / (high - low)) * (height - 3);
  const line = new Path2D();
  const area = new Path2D();
  let before = -1;
  times.forEach((time, i) => {
    if (Number.isNaN(values[i])) return;
    const joined = before >= 0 && before === i - 1;
    if (joined) {
      line.lineTo(x(time), y(values[i]));
      area.lineTo(x(time), y(values[i]));
    } else {
      if (before >= 0) area.lineTo(x(times[before]), height);
      line.moveTo(x(time), y(values[i]));
      area.moveTo(x(time), height);
      area.lineTo(x(time), y(values[i]));
    }
    before = i;
  });
  if (before >= 0) area.lineTo(x(times[before]), height);
  pen.fillStyle = tint(seriesColour(0), 0.14);
  pen.fill(area);
  pen.strokeStyle = tint(seriesColour(0), 0.75);
  pen.lineWidth = 1.4;
  pen.stroke(line);
}

function ends(values) {
  const [low, high] = extent([values]);
  const floor = low >= 0 ? 0 : low;
  return [floor, high > floor ? high : floor + 1];
}
