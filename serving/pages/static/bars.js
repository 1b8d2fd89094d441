// Pictures of distributions: reference in grey, window in colour, always over the same cells.
import { h, s } from "./dom.js";
import { number, percent } from "./format.js";
import { say } from "./page.js";

const largest = (...lists) => lists.flat().reduce((most, each) => Math.max(most, each), 0) || 1;

/** The small picture of a table row: a pair of bars for each cell; of a flag, how often it is up. */
export function small(name, { kind, reference, window }, off) {
  if (kind === "flag") return h("span", { class: "rates" }, `${percent(reference[1], 2)} → ${percent(window[1], 2)}`);
  const width = 132;
  const height = 30;
  const most = largest(reference, window);
  const step = width / Math.max(1, reference.length);
  const gap = reference.length ? Math.max(...reference.map((each, at) => Math.abs((window[at] ?? 0) - each))) : 0;
  const picture = s("svg", { class: "bars", viewBox: `0 0 ${width} ${height}`, role: "img", preserveAspectRatio: "none",
    "aria-label": say("picture_of", name, percent(gap)) });
  reference.forEach((share, at) => {
    picture.append(bar("r", at * step + 0.5, step - 1, share, most, height));
    if (window.length) picture.append(bar(off ? "w off" : "w", at * step + step * 0.28, step * 0.44, window[at], most, height));
  });
  return picture;
}

function bar(kind, x, width, share, most, height) {
  const tall = Math.max(share > 0 ? 1 : 0, (share / most) * (height - 2));
  return s("rect", { class: kind, x: x.toFixed(2), y: (height - tall).toFixed(2), width: Math.max(0.6, width).toFixed(2), height: tall.toFixed(2), rx: 0.8 });
}

/** The legend of a picture. */
export function legend(...more) {
  return h("p", { class: "legend" }, h("span", {}, h("i"), say("reference")), h("span", { class: "window" }, h("i"), say("window_short")), ...more);
}

/** A signal's distribution in full: a histogram for numbers, rows of bars for everything else. */
export function distribution({ kind, cells }, classes) {
  const { reference, window } = cells;
  if (kind === "continuous") return histogram(reference, window, cells.edges);
  const names = kind === "flag" ? [say("no"), say("yes")] : reference.map((_, at) => classes?.[at]?.name ?? cellName(cells, at));
  return pairs(names.map((name, at) => ({ name, reference: reference[at], window: window[at] })));
}

function cellName(cells, at) {
  if (at < cells.labels.length) return cells.labels[at];
  const value = cells.values?.[at];
  return value === undefined ? say("cell_other") : number(value);
}

/** What is rare has its digits too: 0.0 % would be never. */
const rate = (part) => percent(part, part > 0 && part < 0.01 ? 2 : 1);

/** Bars side by side, a row for each name, with their shares as numbers. */
export function pairs(rows) {
  const most = largest(rows.map((row) => row.reference), rows.map((row) => row.window ?? 0));
  const wide = (share) => `${((100 * (share ?? 0)) / most).toFixed(2)}%`;
  return h("div", { class: "pairs" }, rows.flatMap(({ name, reference, window }) => [
    h("span", { title: name }, name),
    h("span", { class: "pair" }, s("svg", { "aria-hidden": "true" },
      s("rect", { class: "r", x: 0, y: 0, height: 6, width: wide(reference), rx: 1 }),
      s("rect", { class: "w", x: 0, y: 8, height: 6, width: wide(window), rx: 1 }))),
    h("span", {}, `${rate(reference)} → ${rate(window)}`),
  ]));
}

function histogram(reference, window, edges) {
  const [width, height, below] = [560, 190, 22];
  const most = largest(reference, window.map((each) => each ?? 0));
  const step = width / reference.length;
  const tall = height - below;
  const picture = s("svg", { class: "histogram", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": say("distribution") });
  reference.forEach((share, at) => {
    const group = s("g", {}, s("title"));
    const low = at === 0 ? "−∞" : number(edges[at - 1]);
    const high = at === edges.length ? "∞" : number(edges[at]);
    group.firstChild.textContent = `${low} … ${high}: ${percent(share)} → ${percent(window[at])}`;
    group.append(bar("r", at * step + step * 0.06, step * 0.88, share, most, tall), bar("w", at * step + step * 0.28, step * 0.44, window[at] ?? 0, most, tall));
    picture.append(group);
  });
  picture.append(s("line", { x1: 0, x2: width, y1: tall, y2: tall }));
  return h("div", {}, picture, h("p", { class: "axis muted small" },
    ...[0, 0.25, 0.5, 0.75, 1].map((share) => h("span", {}, number(edges[Math.round(share * (edges.length - 1))], 3)))));
}
