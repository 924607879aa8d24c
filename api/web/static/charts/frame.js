// The points of one panel: one array of times, one array of values per series.

/** Points on a common time axis, in typed arrays; a value that is missing is NaN. */
export class Frame {
  /** @param {number} width number of series */
  constructor(width) {
    this.width = width;
    this.step = 1;
    this.load({ times: [], values: [], step: 1 });
  }

  /**
   * Replace everything by a window of the API.
   * @param {{times: number[], values: (number|null)[][], step: number,
   *   bounded?: [number, number, number][]}} window
   */
  load(window) {
    const length = window.times.length;
    this.step = window.step || 1;
    this.room = Math.max(length, 2);
    this.length = length;
    this._times = new Float64Array(this.room);
    this._times.set(window.times);
    this._values = Array.from({ length: this.width }, (_, i) =>
      column(window.values[i], this.room),
    );
    this._bounded = new Map();
    for (const [series, place, measured] of window.bounded ?? []) {
      this._bind(window.times[place], series, measured);
    }
    this._view();
  }

  /**
   * Add one point of each series, and forget the oldest.
   * @param {number} time seconds since 1970
   * @param {(number|null)[]} values one per series
   * @param {number} span seconds that are kept
   * @param {[number, number, number][]} bounded as in a window
   */
  append(time, values, span, bounded = []) {
    if (this.length && time <= this._times[this.length - 1]) return;
    const old = this._tooOld(time - span);
    if (old) this._shift(old);
    for (const [series, , measured] of bounded) this._bind(time, series, measured);
    if (this.length === this.room) this._grow();
    this._times[this.length] = time;
    for (let i = 0; i < this.width; i++) {
      this._values[i][this.length] = values[i] ?? NaN;
    }
    this.length += 1;
    this._view();
  }

  /** Whether any of these series has a value at all. */
  filled(indexes) {
    return indexes.some((i) => this.values[i].some((value) => !Number.isNaN(value)));
  }

  /** The last value of a series, NaN when it has none among its last three points. */
  last(index) {
    const values = this.values[index];
    for (let i = this.length - 1; i >= Math.max(0, this.length - 3); i--) {
      if (!Number.isNaN(values[i])) return values[i];
    }
    return NaN;
  }

  /** The index of the point nearest to a time, -1 where none is within two steps. */
  nearest(time) {
    const { times } = this;
    let low = 0;
    let high = times.length - 1;
    if (high < 0) return -1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle;
      else high = middle;
    }
    const found = time - times[low] <= times[high] - time ? low : high;
    return Math.abs(times[found] - time) <= 2 * this.step ? found : -1;
  }

  /** The measured value if the value is bounded, else undefined. */
  measured(index, at) {
    return this._bounded.get(this.times[at])?.get(index);
  }

  /** The times at which a value of any of these series is bounded. */
  boundedTimes(indexes) {
    const times = [...this._bounded.keys()];
    return times.filter((time) => indexes.some((i) => this._bounded.get(time).has(i)));
  }

  _bind(time, index, measured) {
    if (!this._bounded.has(time)) this._bounded.set(time, new Map());
    this._bounded.get(time).set(index, measured);
  }

  _tooOld(limit) {
    let count = 0;
    while (count < this.length && this._times[count] < limit) count += 1;
    return count;
  }

  _shift(count) {
    for (const time of this._times.subarray(0, count)) this._bounded.delete(time);
    for (const values of [this._times, ...this._values]) {
      values.copyWithin(0, count, this.length);
    }
    this.length -= count;
  }

  _grow() {
    this.room = Math.ceil(this.room * 1.5) + 8;
    const grown = (values) => {
      const made = new Float64Array(this.room);
      made.set(values);
      return made;
    };
    this._times = grown(this._times);
    this._values = this._values.map(grown);
  }

  /** Views without the room behind the last point; making one copies nothing. */
  _view() {
    this.times = this._times.subarray(0, this.length);
    this.values = this._values.map((values) => values.subarray(0, this.length));
  }
}

function column(values, room) {
  const made = new Float64Array(room).fill(NaN);
  if (!values) return made;
  for (let i = 0; i < values.length; i++) made[i] = values[i] ?? NaN;
  return made;
}
