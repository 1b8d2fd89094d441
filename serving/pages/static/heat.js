// The gradient norms of all layers over time, as a picture with a row for each; and which are out
// of line just now.
import { $, calmly, h, icon, text } from "./dom.js";
import { count, number } from "./format.js";
import { LAYER } from "./metrics.js";
import { ask, say } from "./page.js";
import { colours } from "./plot.js";
import { Series } from "./series.js";

const COLUMNS = 160;
const MOST_COLUMNS = 320;
const ROW = 18;
const HIGH = 3; // times the mean of all layers, as the monitor's rules have it
const LOW = 0.1;

export class Heat {
  constructor() {
    this.series = null;
    this.refresh = calmly(() => this.#draw(), 500);
    const canvas = $("heat");
    canvas.addEventListener("pointermove", (event) => this.#at(event.offsetX, event.offsetY));
    canvas.addEventListener("pointerleave", () => text($("layers-at"), ""));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("themechange", this.refresh);
    addEventListener("resize", this.refresh);
  }

  /** Shows a run from its beginning; null shows none. */
  async show(run) {
    this.run = run;
    this.series = null;
    $("layers").hidden = true;
    if (run === null) return;
    const query = new URLSearchParams({ prefix: LAYER, points: COLUMNS });
    const told = await ask(`/runs/${encodeURIComponent(run)}/points?${query}`);
    if (this.run !== run) return;
    const series = new Series(run);
    series.load(told);
    for (const late of this.late ?? []) if (late.run === run) series.append(late);
    this.late = [];
    this.series = series;
    this.refresh();
  }

  /** Takes new points; those that come while the beginning is fetched wait for it. */
  append(told) {
    if (told.run !== this.run) return;
    const series = Object.fromEntries(Object.entries(told.series).filter(([name]) => name.startsWith(LAYER)));
    const rows = [...told.steps.keys()].filter((row) => Object.values(series).some((each) => each.values[row] !== null));
    const pick = (values) => rows.map((row) => values[row]);
    const layers = {
      run: told.run, life: told.life, after: told.after, sampled: false, steps: pick(told.steps), unix_times: pick(told.unix_times),
      series: Object.fromEntries(Object.entries(series).map(([name, each]) => [name, { values: pick(each.values) }])),
    };
    if (!this.series) {
      this.late = [...(this.late ?? []), layers].slice(-100);
      return;
    }
    this.series.append(layers);
    if (this.series.steps.length > MOST_COLUMNS) this.show(this.run);
    else if (rows.length) this.refresh();
  }

  #draw() {
    const series = this.series;
    const names = series ? [...series.names.keys()] : [];
    $("layers").hidden = !names.length;
    if (!names.length) return;
    this.layers = names;
    this.columns = [...series.steps.keys()].filter((row) => names.some((name) => finite(series.names.get(name).high[row])));
    const all = names.flatMap((name) => this.columns.map((row) => series.names.get(name).high[row])).filter((v) => v > 0);
    const [low, high] = all.length ? [Math.log10(all.reduce((a, b) => Math.min(a, b))), Math.log10(all.reduce((a, b) => Math.max(a, b)))] : [0, 1];
    this.bounds = [low, Math.max(high, low + 0.5)];
    this.#paint();
    const odd = this.#odd();
    $("layer-names").replaceChildren(...names.map((name) => {
      const found = odd.get(name);
      const label = h("span", { title: name.slice(LAYER.length) }, name.slice(LAYER.length));
      return h("li", found ? { class: "odd" } : {}, found ? icon(found.ratio > 1 ? "up" : "down") : null, label);
    }));
    $("heat-scale").replaceChildren(h("span", {}, number(10 ** low, 2)), h("i"), h("span", {}, number(10 ** high, 2)));
    const said = [...odd].map(([name, { ratio, value }]) => h("li", {},
      icon("warning"), h("code", {}, name.slice(LAYER.length)),
      h("span", {}, say(ratio > 1 ? "layer_high" : "layer_low", number(ratio, 2))), h("span", { class: "muted" }, number(value, 3))));
    $("layers-odd").replaceChildren(said.length
      ? h("div", {}, h("h3", {}, say("layers_odd")), h("ul", { class: "odd-list" }, said))
      : h("p", { class: "muted" }, say("layers_fine")));
  }

  /** The layers whose newest norm is far from the mean of all. */
  #odd() {
    const newest = this.layers.map((name) => [name, this.series.latest(name)?.value]).filter(([, value]) => finite(value));
    const mean = newest.reduce((sum, [, value]) => sum + value, 0) / (newest.length || 1);
    return new Map(newest.map(([name, value]) => [name, { value, ratio: value / mean }])
      .filter(([, { ratio }]) => mean > 0 && newest.length > 2 && (ratio > HIGH || ratio < LOW))
      .sort(([, a], [, b]) => Math.abs(Math.log(b.ratio || 1e-12)) - Math.abs(Math.log(a.ratio || 1e-12))).slice(0, 12));
  }

  #paint() {
    const canvas = $("heat");
    const look = colours();
    const width = canvas.parentElement.clientWidth - $("layer-names").offsetWidth;
    const dense = Math.min(devicePixelRatio || 1, 2);
    canvas.style.height = `${this.layers.length * ROW}px`;
    canvas.width = Math.max(60, Math.round(width * dense));
    canvas.height = this.layers.length * ROW * dense;
    const paint = canvas.getContext("2d");
    paint.fillStyle = look.line;
    paint.fillRect(0, 0, canvas.width, canvas.height);
    const [low, high] = this.bounds;
    const step = canvas.width / Math.max(1, this.columns.length);
    this.layers.forEach((name, row) => {
      const values = this.series.names.get(name).high;
      let last = null;
      this.columns.forEach((at, column) => {
        if (finite(values[at])) last = values[at]; // measured now and then: it stands until the next
        if (last === null) return;
        const share = last > 0 ? (Math.log10(last) - low) / (high - low) : 0;
        paint.globalAlpha = 1;
        paint.fillStyle = look.surface;
        paint.fillRect(column * step, row * ROW * dense, step + 1, (ROW - 1) * dense);
        paint.globalAlpha = 0.06 + 0.94 * Math.min(1, Math.max(0, share));
        paint.fillStyle = look.accent;
        paint.fillRect(column * step, row * ROW * dense, step + 1, (ROW - 1) * dense);
      });
    });
    paint.globalAlpha = 1;
  }

  #at(x, y) {
    const canvas = $("heat");
    if (!this.columns?.length) return;
    this.here = [Math.floor((x / canvas.clientWidth) * this.columns.length), Math.floor(y / ROW)];
    this.#tell();
  }

  #tell() {
    const [column, row] = this.here;
    const name = this.layers[row];
    if (name === undefined || this.columns[column] === undefined) return;
    const values = this.series.names.get(name).high;
    let at = column;
    while (at > 0 && !finite(values[this.columns[at]])) at--;
    const value = values[this.columns[at]];
    text($("layers-at"), `${name.slice(LAYER.length)} · ${say("event_at", count(this.series.steps[this.columns[at]]))} · ${number(value)}`);
  }

  #key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!(event.key in moves) || !this.columns?.length) return;
    event.preventDefault();
    const [column, row] = this.here ?? [this.columns.length - 1, 0];
    const keep = (value, size) => Math.min(size - 1, Math.max(0, value));
    this.here = [keep(column + moves[event.key][0], this.columns.length), keep(row + moves[event.key][1], this.layers.length)];
    this.#tell();
  }
}

const finite = (value) => value !== null && value !== undefined && Number.isFinite(value);
