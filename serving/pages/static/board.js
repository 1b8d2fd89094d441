// All curve charts together: one cursor, one zoom, one set of options; only what is seen is drawn.
import { $, calmly, h, icon } from "./dom.js";
import { number } from "./format.js";
import { Chart } from "./chart.js";
import { LAYER, ordered, section, SECTIONS, title } from "./metrics.js";
import { ask, say } from "./page.js";
import { colours } from "./plot.js";
import { nearest, Series } from "./series.js";

const MOST_CHARTS = 80;
const DRAW_MS = 200;
const DETAIL_ROWS = 1_200;
const touch = matchMedia("(pointer: coarse)").matches;

/** A run as charts see it: its series, its colour, where its steps lie on the axis. */
export class Line {
  constructor(series, colour) {
    this.whole = series;
    this.colour = colour;
    this.dash = colour;
    this.detail = null;
    this.axis = "step";
  }

  get series() { return this.detail ?? this.whole; }
  x(row) { return this.axis === "step" ? this.series.steps[row] : (this.series.times[row] - this.whole.start) / 60; }
  /** Where a step stands on the axis. */
  at(step) {
    if (this.axis === "step") return step;
    const row = nearest(this.whole.steps, step);
    return row < 0 ? 0 : (this.whole.times[row] - this.whole.start) / 60;
  }
  /** The step at a place of the axis. */
  step(x) {
    if (this.axis === "step") return Math.round(x);
    return this.whole.steps[nearest(this.whole.times, this.whole.start + x * 60)] ?? 0;
  }
}

export class Board {
  constructor(root, { onCursor }) {
    this.root = root;
    this.onCursor = onCursor;
    this.lines = [];
    this.charts = new Map();
    this.options = { smoothing: 0.6, log: false, axis: "step" };
    this.range = null;
    this.at = null;
    this.find = "";
    this.revision = 0;
    this.look = colours();
    this.refresh = calmly(() => this.#draw(), DRAW_MS);
    this.seen = new IntersectionObserver((entries) => this.#watch(entries), { rootMargin: "200px" });
    this.sections = new Map(SECTIONS.map((name) => [name, this.#section(name)]));
    document.addEventListener("themechange", () => this.#recolour());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#recolour());
    let waiting;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { for (const chart of this.charts.values()) chart.resize(); }, 120);
    });
  }

  /** Shows these runs, the first one in front. */
  show(lines) {
    this.lines = lines;
    this.zoom(null);
    this.changed();
  }

  /** New points, or other names. */
  changed() {
    for (const line of this.lines) line.axis = this.options.axis;
    this.#arrange();
    this.refresh();
  }

  set(options) {
    const turned = options.axis && options.axis !== this.options.axis;
    Object.assign(this.options, options);
    if (turned) this.zoom(null);
    this.changed();
  }

  /** Keeps the metrics whose name holds this text. */
  filter(text) {
    this.find = text.trim().toLowerCase();
    this.changed();
  }

  /** Moves the cursor of every chart; null shows the newest values. */
  cursor(x) {
    this.at = x;
    cancelAnimationFrame(this.pointing);
    this.pointing = requestAnimationFrame(() => {
      for (const chart of this.charts.values()) if (chart.visible && chart.wired) chart.point(x);
      this.onCursor(x);
    });
  }

  /** Shows this stretch of the axis in every chart, or the whole. */
  zoom(range) {
    const [low, high] = this.extent();
    if (range !== null && !(range[1] > range[0])) return;
    if (range !== null && range[0] <= low && range[1] >= high) range = null;
    this.range = range;
    $("range").textContent = range ? say("zoomed", number(range[0]), number(range[1])) : "";
    for (const line of this.lines) line.detail = null;
    this.refresh();
    clearTimeout(this.looking);
    if (range) this.looking = setTimeout(() => this.#look(range), 150);
  }

  /** Narrows (below 1) or widens the stretch around the cursor. */
  scale(factor) {
    const [low, high] = this.range ?? this.extent();
    const centre = this.at !== null && this.at >= low && this.at <= high ? this.at : (low + high) / 2;
    this.zoom([centre - (centre - low) * factor, centre + (high - centre) * factor]);
  }

  /** The keyboard, on any chart. */
  key(event) {
    const [low, high] = this.range ?? this.extent();
    const step = (high - low) / (event.shiftKey ? 10 : 100);
    const moves = { ArrowLeft: -step, ArrowRight: step };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) this.cursor(Math.min(high, Math.max(low, (this.at ?? high) + moves[event.key])));
    else if (event.key === "Home") this.cursor(low);
    else if (event.key === "End") this.cursor(high);
    else if (event.key === "+" || event.key === "=") this.scale(0.5);
    else if (event.key === "-") this.scale(2);
    else if (event.key === "0") this.zoom(null);
    else if (event.key === "Escape") this.cursor(null);
    else return;
    event.preventDefault();
  }

  /** The stretch of the axis that has points. */
  extent() {
    const ends = this.lines.filter((line) => line.whole.steps.length)
      .flatMap((line) => [line.at(line.whole.steps[0]), line.at(line.whole.lastStep)]);
    const [low, high] = ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1];
    return high > low ? [low, high] : [low - 0.5, high + 0.5];
  }

  /** Fetches a stretch in more detail than the whole was told in. */
  async #look(range) {
    await Promise.all(this.lines.map(async (line) => {
      if (!line.whole.sampled) return;
      const query = new URLSearchParams({
        from: Math.max(0, Math.floor(line.step(range[0]))), to: Math.max(0, Math.ceil(line.step(range[1]))),
        points: DETAIL_ROWS, without: LAYER,
      });
      const told = await ask(`/runs/${encodeURIComponent(line.whole.run)}/points?${query}`);
      if (this.range !== range) return;
      const detail = new Series(line.whole.run);
      detail.load({ ...told, events: line.whole.events });
      line.detail = detail.steps.length ? detail : null;
    }));
    this.refresh();
  }

  #arrange() {
    const names = new Set(this.lines.flatMap((line) => [...line.whole.names.keys()]));
    const wanted = ordered([...names].filter((name) => section(name) && this.#matches(name))).slice(0, MOST_CHARTS);
    for (const [name, chart] of this.charts) {
      if (wanted.includes(name)) continue;
      this.seen.unobserve(chart.element);
      chart.remove();
      this.charts.delete(name);
    }
    const grids = new Map(SECTIONS.map((name) => [name, []]));
    for (const name of wanted) {
      if (!this.charts.has(name)) {
        const chart = new Chart(name, this);
        this.charts.set(name, chart);
        this.seen.observe(chart.element);
      }
      grids.get(section(name)).push(this.charts.get(name).element);
    }
    for (const [name, elements] of grids) {
      const { element, grid } = this.sections.get(name);
      element.hidden = !elements.length;
      if (elements.some((each, at) => grid.children[at] !== each)) grid.replaceChildren(...elements);
    }
  }

  #matches(name) {
    return !this.find || name.toLowerCase().includes(this.find) || title(name).toLowerCase().includes(this.find);
  }

  #section(name) {
    const grid = h("div", { class: "grid" });
    const heading = [icon("chevron"), h("h2", {}, say(`section_${name}`))];
    heading[0].classList.add("chevron");
    const element = h("details", { class: "section", open: true, hidden: true }, h("summary", {}, ...heading), grid);
    this.root.append(element);
    return { element, grid };
  }

  #watch(entries) {
    for (const entry of entries) {
      const chart = this.charts.get(entry.target.dataset.metric);
      if (chart) chart.visible = entry.isIntersecting;
    }
    this.refresh();
  }

  #draw() {
    this.revision += 1;
    const { smoothing, log, axis } = this.options;
    const extent = this.extent();
    for (const chart of this.charts.values()) {
      if (!chart.visible || chart.plot._dragging) continue;
      chart.draw(this.lines, {
        look: this.look, smoothing, log, axis, extent, range: this.range, cursor: this.at, revision: this.revision, touch,
      });
    }
  }

  #recolour() {
    this.look = colours();
    this.refresh();
  }
}
