// One curve chart: a card with its values, the runs' lines and the events' marks.
import { h, text } from "./dom.js";
import { number } from "./format.js";
import { noisy, scale, title, unit } from "./metrics.js";
import { say } from "./page.js";
import { CONFIG, DASHES, faint, layout, logTicks, place, plotly, under } from "./plot.js";
import { nearest, smoothed } from "./series.js";

const MARKS = 40;
const FEW = 12; // points that are looked at one by one, and not smoothed
const SYMBOLS = { critical: "x", error: "x", major: "x", warning: "triangle-up", moderate: "triangle-up" };
const library = await plotly();

const scaled = (found, by) => {
  if (by === 1) return found;
  const times = (values) => values.map((value) => value * by);
  return { at: found.at, mean: times(found.mean), low: times(found.low), high: times(found.high) };
};

/** A card for one metric. `board` has `cursor(x)`, `zoom(range)`, `key(event)`, `shown(chart)`. */
export class Chart {
  constructor(name, board) {
    this.name = name;
    this.board = board;
    this.visible = false;
    this.values = h("ul", { class: "values" });
    this.cursor = h("div", { class: "cursor", hidden: true });
    this.plot = h("div", { class: "plot" });
    this.caption = title(name);
    this.noisy = noisy(name);
    const unitOf = unit(name);
    this.element = h(
      "article",
      { class: "card chart", tabIndex: 0, "aria-describedby": "chart-help", data: { metric: name } },
      h("header", {}, h("h3", {}, this.caption, unitOf ? h("span", { class: "unit" }, unitOf) : null), this.values),
      h("div", { class: "plot-frame" }, this.plot, this.cursor),
    );
    this.element.addEventListener("keydown", (event) => board.key(event));
    this.plot.addEventListener("pointermove", (event) => {
      const at = under(this.plot, event.clientX);
      if (at !== null) board.cursor(at);
    });
    this.plot.addEventListener("pointerleave", () => board.cursor(null));
    this.plot.addEventListener("dblclick", () => board.zoom(null));
  }

  /** Draws the runs as they are now. */
  draw(runs, options) {
    const { look, smoothing, log, range, axis } = options;
    const traces = [];
    this.lines = [];
    for (const each of runs) {
      const found = scaled(each.series.column(this.name), scale(this.name));
      if (!found.mean.length) continue;
      const x = found.at.map((row) => each.x(row));
      const colour = look.lines[each.colour % look.lines.length];
      const lines = smoothing > 0 && this.noisy && found.mean.length >= FEW ? smoothed(found.mean, smoothing) : null;
      const common = { x, type: "scatter", mode: "lines", hoverinfo: "skip" };
      if (each.series.sampled) {
        traces.push({ ...common, y: found.high, line: { width: 0 } });
        traces.push({ ...common, y: found.low, line: { width: 0 }, fill: "tonexty", fillcolor: faint(colour, 0.16) });
      }
      if (lines && !each.series.sampled) traces.push({ ...common, y: found.mean, line: { color: faint(colour, 0.32), width: 1 } });
      traces.push({
        ...common, y: lines ?? found.mean, mode: found.mean.length === 1 ? "markers" : "lines",
        line: { color: colour, width: 1.9, dash: DASHES[each.dash % DASHES.length] }, marker: { color: colour, size: 6 },
      });
      this.lines.push({ each, x, mean: found.mean, low: found.low, high: found.high });
    }
    this.#mark(traces, options);
    const wide = layout(look, {
      dragmode: options.touch ? false : "zoom",
      height: 234, margin: { l: 54, r: 14, t: 8, b: 42 },
      xaxis: {
        range: range ?? options.extent, autorange: false,
        title: { text: say(axis === "step" ? "axis_step" : "minutes"), standoff: 4, font: { size: 11.5, color: look.muted } },
      },
      yaxis: { type: log ? "log" : "linear", autorange: true, ...(log ? logTicks(this.lines.flatMap(({ low, high }) => [...low, ...high])) : {}) },
      shapes: this.shapes,
    });
    wide.datarevision = options.revision;
    library.react(this.plot, traces, wide, CONFIG);
    if (!this.wired) {
      this.wired = true;
      this.plot.on("plotly_relayout", (change) => {
        const low = change["xaxis.range[0]"];
        if (low !== undefined) this.board.zoom([low, change["xaxis.range[1]"]]);
      });
    }
    this.drawn = axis;
    this.point(options.cursor);
  }

  /** Puts events on the first run's curve, and a line where they stand. */
  #mark(traces, { look }) {
    this.shapes = [];
    const line = this.lines[0];
    const events = line?.each.series.events.slice(-MARKS) ?? [];
    if (!events.length) return;
    const colour = (severity) => (SYMBOLS[severity] === "x" ? look.drift : SYMBOLS[severity] ? look.warning : look.quiet);
    const x = events.map((event) => line.each.at(event.step));
    const rows = x.map((at) => nearest(line.x, at));
    this.shapes = events.map((event, at) => ({
      type: "line", x0: x[at], x1: x[at], yref: "paper", y0: 0, y1: 1, layer: "below",
      line: { color: colour(event.severity), width: 1, dash: "dot" }, opacity: 0.7,
    }));
    traces.push({
      type: "scatter", mode: "markers", hoverinfo: "skip", x, y: rows.map((row) => line.mean[row]), cliponaxis: false,
      marker: {
        size: 9, symbol: events.map((event) => SYMBOLS[event.severity] ?? "circle-open"),
        color: events.map((event) => colour(event.severity)), line: { width: 1.5, color: look.surface },
      },
    });
  }

  /** Shows the values at `x`, or the newest ones. */
  point(x) {
    const at = x === null ? null : place(this.plot, x);
    this.cursor.hidden = at === null;
    if (at !== null) {
      this.cursor.style.transform = `translate(${Math.round(at.left)}px, ${at.top}px)`;
      this.cursor.style.height = `${at.height}px`;
    }
    const rows = (this.lines ?? []).map(({ each, x: xs, mean, low, high }) => {
      const row = at === null ? mean.length - 1 : nearest(xs, x);
      const spread = high[row] > low[row] ? ` (${number(low[row])} … ${number(high[row])})` : "";
      return { each, said: number(mean[row]), spread: at === null ? "" : spread };
    });
    while (this.values.children.length > rows.length) this.values.lastChild.remove();
    rows.forEach(({ each, said, spread }, index) => {
      if (!this.values.children[index]) this.values.append(h("li", {}, h("i"), h("b"), h("small")));
      const [swatch, value, more] = this.values.children[index].children;
      swatch.className = `swatch c${each.colour % 8} d${each.dash % 6}`;
      swatch.title = each.series.run;
      text(value, said);
      text(more, spread);
    });
    const words = rows.map(({ each, said }) => (rows.length > 1 ? `${each.series.run} ${said}` : said)).join(", ");
    this.element.setAttribute("aria-label", `${this.caption}: ${words}`);
  }

  /** Redraws at another size. */
  resize() {
    if (this.wired) library.Plots.resize(this.plot);
  }

  /** Lets go of everything. */
  remove() {
    if (this.wired) library.purge(this.plot);
    this.element.remove();
  }
}
