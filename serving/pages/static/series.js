// The values of one run as the page keeps them: bounded, however long the run and the night.

const MOST = 4_000; // rows; beyond it the older half is made coarser
const MOST_EVENTS = 1_000; // the newest, as many as the service keeps

/** Columns of one run. `mean`, `low` and `high` hold null where a row has no value. */
export class Series {
  constructor(run) {
    this.run = run;
    this.clear();
  }

  clear() {
    this.steps = [];
    this.times = [];
    this.names = new Map();
    this.events = [];
    this.life = undefined;
    this.after = 0; // 0: the whole is wanted
    this.sampled = false;
  }

  /** Takes the whole run, as the service down-sampled it. */
  load(told) {
    this.clear();
    this.life = told.life;
    this.#add(told);
  }

  /** Takes what came since; a batch that is there already changes nothing. */
  append(told) {
    // Somebody removed the run and began it anew: what is here is of its former life.
    if (told.life !== this.life) this.clear();
    if (!this.after || told.after <= this.after) return;
    this.#add(told);
    while (this.steps.length > MOST) this.#coarsen();
  }

  #add(told) {
    const before = this.steps.length;
    const last = this.lastStep ?? -Infinity;
    this.steps.push(...told.steps);
    this.times.push(...told.unix_times);
    const size = this.steps.length;
    for (const [name, columns] of Object.entries(told.series)) {
      const mine = this.names.get(name) ?? { mean: [], low: [], high: [] };
      this.names.set(name, mine);
      const { values, low = values, high = values } = columns;
      for (const [key, more] of [["mean", values], ["low", low], ["high", high]]) {
        fill(mine[key], before);
        mine[key].push(...more);
      }
    }
    for (const mine of this.names.values()) for (const values of Object.values(mine)) fill(values, size);
    if (told.steps.some((step, at) => step < (at ? told.steps[at - 1] : last))) this.#sort();
    const known = new Set(this.events.map(identity));
    this.events.push(...(told.events ?? []).filter((each) => !known.has(identity(each))));
    this.events.splice(0, this.events.length - MOST_EVENTS);
    this.after = told.after;
    this.sampled ||= told.sampled;
  }

  /** Puts rows in the order of their steps; those that came later stand behind their equals. */
  #sort() {
    const order = [...this.steps.keys()].sort((a, b) => this.steps[a] - this.steps[b] || a - b);
    const sorted = (values) => order.map((row) => values[row]);
    this.steps = sorted(this.steps);
    this.times = sorted(this.times);
    for (const mine of this.names.values()) for (const key of Object.keys(mine)) mine[key] = sorted(mine[key]);
  }

  /** Makes pairs of rows one in the older half. */
  #coarsen() {
    const half = (this.steps.length >> 2) << 1;
    const pairs = (values, join) => {
      const joined = [];
      for (let at = 0; at < half; at += 2) joined.push(join(values[at], values[at + 1]));
      return joined.concat(values.slice(half));
    };
    const second = (_, b) => b;
    const both = (join) => (a, b) => (a === null ? b : b === null ? a : join(a, b));
    this.steps = pairs(this.steps, second);
    this.times = pairs(this.times, second);
    for (const mine of this.names.values()) {
      mine.mean = pairs(mine.mean, both((a, b) => (a + b) / 2));
      mine.low = pairs(mine.low, both(Math.min));
      mine.high = pairs(mine.high, both(Math.max));
    }
    this.sampled = true;
  }

  /** The rows from step `low` to `high` with one beyond at each end, or all, of one name; rows
   * without a value are left out. */
  column(name) {
    const mine = this.names.get(name);
    const found = { at: [], mean: [], low: [], high: [] };
    if (!mine) return found;
    for (let row = 0; row < this.steps.length; row++) {
      if (mine.mean[row] === null || mine.mean[row] === undefined) continue;
      found.at.push(row);
      found.mean.push(mine.mean[row]);
      found.low.push(mine.low[row]);
      found.high.push(mine.high[row]);
    }
    return found;
  }

  /** The newest value of a name with its step, or null. */
  latest(name) {
    const values = this.names.get(name)?.mean ?? [];
    for (let row = values.length - 1; row >= 0; row--)
      if (values[row] !== null) return { step: this.steps[row], time: this.times[row], value: values[row] };
    return null;
  }

  get lastStep() { return this.steps.at(-1) ?? null; }
  get start() { return this.times[0] ?? 0; }
}

const identity = (event) => `${event.step} ${event.rule} ${event.time}`;

function fill(values, size) {
  while (values.length < size) values.push(null);
}

/** The first index whose value is at least `wanted`, in an ascending array. */
export function lowerBound(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the value nearest to `wanted` in an ascending array; −1 where it is empty. */
export function nearest(values, wanted) {
  const at = lowerBound(values, wanted);
  if (at === 0) return values.length ? 0 : -1;
  if (at === values.length) return at - 1;
  return wanted - values[at - 1] <= values[at] - wanted ? at - 1 : at;
}

/** An exponential mean with the start's bias taken out, as TensorBoard draws it. */
export function smoothed(values, weight) {
  if (weight <= 0) return values;
  let sum = 0;
  let mass = 0;
  return values.map((value) => {
    sum = weight * sum + (1 - weight) * value;
    mass = weight * mass + (1 - weight);
    return sum / mass;
  });
}
