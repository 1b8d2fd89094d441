// One signal opened: both distributions, evidence and effect over time, moments, what would be seen.
import { h } from "./dom.js";
import { distribution, legend } from "./bars.js";
import { count, number, percent, signed } from "./format.js";
import { ask, say } from "./page.js";
import { colours, CONFIG, layout, NARROW, plotly } from "./plot.js";
import { localised } from "./verdict.js";

/** A moment as plotly shows it: in the viewer's zone. */
export const local = (iso) => {
  const date = new Date(iso);
  return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 23);
};

/** From the first point to a little beyond the last: an onset before that is told in words only. */
export function span(points) {
  if (points.length < 2) return undefined;
  const [first, last] = [Date.parse(points[0].at), Date.parse(points.at(-1).at)];
  return [local(first), local(last + 0.03 * (last - first))];
}

/** How the hours on a time axis are written; no words, which plotly would write in English. */
export function clock(points) {
  const span = points.length ? Date.parse(points.at(-1).at) - Date.parse(points[0].at) : 0;
  return span > 2 * 86_400_000 ? "%m-%d" : span > 43_200_000 ? "%m-%d %H:%M" : span > 600_000 ? "%H:%M" : "%H:%M:%S";
}

export class Detail {
  constructor(name) {
    this.name = name;
    this.said = h("p", { class: "said" });
    this.shapes = h("section", {}, h("h3", {}, say("distribution")), legend(), h("div"));
    this.plot = h("div", { class: "plot short", role: "img", "aria-label": say("over_time") });
    const line = (kind, key) => h("span", { class: `line ${kind}` }, h("i"), say(key));
    this.history = h("section", {}, h("h3", {}, say("over_time")),
      h("p", { class: "legend" }, line("", "evidence"), line("psi", "col_psi"), line("onset", "onset")), this.plot);
    this.moments = h("section", {}, h("h3", {}, say("moments")), h("div", { class: "scroll" }));
    this.seen = h("section", {}, h("h3", {}, say("detectable")), h("div"));
    this.element = h("tr", { class: "detail" }, h("td", { colSpan: 8 },
      h("div", { class: "detail-grid" }, this.said, this.shapes, this.history, this.moments, this.seen)));
  }

  /** Takes a new verdict, and asks for the rest; while one answer is awaited no other is asked. */
  async update(...told) {
    const [drift, sentences, pictures] = told;
    this.drift = drift;
    this.sentence = sentences.signals?.[this.name];
    this.classes = pictures?.classes.find((each) => each.signal === this.name)?.classes;
    if (this.asking) {
      this.again = told;
      return;
    }
    this.asking = true;
    try {
      const told = await ask(`/drift/signals/${this.name.split("/").map(encodeURIComponent).join("/")}`);
      if (!this.closed) await this.#show(told);
    } finally {
      this.asking = false;
    }
    const again = this.again;
    this.again = null;
    if (again && !this.closed) await this.update(...again);
  }

  async #show(told) {
    const verdict = told.verdict ?? {};
    this.said.replaceChildren(...localised(this.sentence ?? verdict.sentence ?? ""));
    this.shapes.lastChild.replaceChildren(distribution(told, this.classes));
    const { reference, window } = told.moments;
    this.moments.hidden = told.kind !== "continuous"; // codes and flags have no mean worth telling
    const row = (key, show) => h("tr", {}, h("th", { scope: "row" }, say(`m_${key}`)), h("td", { class: "num" }, show(reference[key])), h("td", { class: "num" }, show(window[key])));
    this.moments.lastChild.replaceChildren(h("table", {},
      h("thead", {}, h("tr", {}, h("td"), h("th", { scope: "col", class: "num" }, say("reference")), h("th", { scope: "col", class: "num" }, say("window_short")))),
      h("tbody", {}, row("count", count), ...["mean", "sd", "low", "high"].map((key) => row(key, number)))));
    this.seen.lastChild.replaceChildren(...this.#detectable(verdict).map((each) => h("p", {}, each)));
    await this.#draw(told);
  }

  #detectable(verdict) {
    const size = verdict.window_size ?? 0;
    const row = this.drift.sensitivity?.rows?.find((each) => each.signal === this.name);
    const reached = (table) => Object.entries(table ?? {}).map(([requests, value]) => [Number(requests), value])
      .filter(([requests, value]) => requests <= size && value !== null).sort((a, b) => b[0] - a[0])[0];
    const said = [];
    const shift = reached(row?.mean_shift_sd);
    const rate = reached(row?.rate_change);
    if (shift) said.push(say("detectable_shift", count(shift[0]), number(shift[1], 2)));
    if (rate) said.push(say("detectable_rate", count(rate[0]), percent(rate[1])));
    if (verdict.needed) said.push(say("detectable_needed", count(verdict.needed), count(size)));
    const change = verdict.effect?.missing_change;
    if (Math.abs(change ?? 0) >= 5e-4) said.push(say("missing_change", `${signed(100 * change, 1)} %`));
    return said;
  }

  async #draw({ timeline, verdict }) {
    const library = await plotly();
    if (this.closed) return;
    const look = colours();
    const x = timeline.map((each) => local(each.at));
    const common = { type: "scatter", mode: timeline.length > 1 ? "lines" : "markers", hoverinfo: "skip", x };
    const onset = verdict?.onset;
    library.react(this.plot, [
      { ...common, y: timeline.map((each) => Math.max(each.evidence ?? -1, -1)), line: { color: look.accent, width: 2 }, marker: { color: look.accent } },
      { ...common, y: timeline.map((each) => each.psi), yaxis: "y2", line: { color: look.lines[1], width: 1.6, dash: "dash" }, marker: { color: look.lines[1] } },
    ], layout(look, {
      height: 200, margin: { l: 44, r: 44, t: 8, b: 28 }, dragmode: false,
      xaxis: { type: "date", nticks: innerWidth < NARROW ? 3 : 5, tickangle: 0, fixedrange: true, range: span(timeline), tickformat: clock(timeline) },
      yaxis: { nticks: 4 },
      yaxis2: { overlaying: "y", tickmode: "auto", exponentformat: "e", side: "right", rangemode: "tozero", showgrid: false, fixedrange: true, nticks: 4, tickfont: { color: look.muted, size: 11.5 } },
      shapes: onset ? [{ type: "line", x0: local(onset), x1: local(onset), yref: "paper", y0: 0, y1: 1, line: { color: look.drift, width: 1.5, dash: "dot" } }] : [],
    }), { ...CONFIG, responsive: true });
  }

  close() {
    this.closed = true;
    if (this.plot._fullLayout) globalThis.Plotly.purge(this.plot);
  }
}
