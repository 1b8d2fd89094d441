// Charts by plotly, in the page's colours: lines only, no text of clients ever goes into them.

import { number } from "./format.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The page's colours as they are now. */
export function colours() {
  return {
    text: css("--text"), muted: css("--muted"), line: css("--line"), surface: css("--surface"),
    accent: css("--accent"), reference: css("--reference"), stable: css("--stable"),
    warning: css("--warning"), drift: css("--drift"), quiet: css("--quiet"),
    lines: Array.from({ length: 8 }, (_, at) => css(`--c${at}`)), sans: css("--sans"),
  };
}

/** A colour with an opacity. */
export function faint(colour, opacity) {
  const hex = colour.replace("#", "");
  const parts = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${parts.join(",")},${opacity})`;
}

export const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
export const CONFIG = { displayModeBar: false, responsive: false, doubleClick: false, showTips: false, scrollZoom: false };
export const NARROW = 720; // px; as in the style sheets, a phone's screen
const coarse = matchMedia("(pointer: coarse)").matches;

/** The layout that all charts share; `more` goes over it. */
export function layout(look, more = {}) {
  const axis = {
    gridcolor: look.line, linecolor: look.line, zeroline: false, ticks: "", automargin: false,
    tickfont: { color: look.muted, size: 11.5 }, exponentformat: "e",
  };
  const { xaxis, yaxis, ...rest } = more;
  return {
    autosize: true, height: 220, margin: { l: 54, r: 14, t: 8, b: 28 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: look.sans, size: 12, color: look.muted },
    showlegend: false, hovermode: false, dragmode: coarse ? false : "zoom",
    ...rest,
    xaxis: { ...axis, showgrid: false, nticks: 7, ...xaxis },
    yaxis: { ...axis, fixedrange: true, nticks: 5, ...yaxis },
  };
}

/** Marks of a log axis over these values, each with its whole number: plotly writes "2" for 0.002. */
export function logTicks(values) {
  let [low, high] = [Infinity, 0];
  for (const value of values) if (value > 0) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (!high) return {};
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const wide = Math.log10(high / low);
  if (wide < 0.9) return {}; // within a power of ten plotly writes whole numbers itself
  const parts = wide < 1.5 ? [1, 2, 3, 5] : wide < 3 ? [1, 3] : [1];
  const every = Math.max(1, Math.ceil(wide / 6));
  const [tickvals, ticktext] = [[], []];
  for (let power = first; power <= last; power += every) {
    for (const part of parts) {
      tickvals.push(Number(`${part}e${power}`));
      ticktext.push(number(tickvals.at(-1), 1));
    }
  }
  return { tickmode: "array", tickvals, ticktext };
}

/** The x value under a place of the screen, or null outside the plot. */
export function under(div, clientX) {
  const axis = div._fullLayout?.xaxis;
  if (!axis) return null;
  const at = clientX - div.getBoundingClientRect().left - axis._offset;
  return at < 0 || at > axis._length ? null : axis.p2d(at);
}

/** Where an x value lies in the plot: {left, top, height} in pixels, or null outside. */
export function place(div, x) {
  const full = div._fullLayout;
  if (!full?.xaxis) return null;
  const at = full.xaxis.d2p(x);
  if (!(at >= 0 && at <= full.xaxis._length)) return null;
  return { left: full.xaxis._offset + at, top: full.yaxis._offset, height: full.yaxis._length };
}

/** plotly, once it is loaded. */
export function plotly() {
  return new Promise((ready) => {
    const look = () => (globalThis.Plotly ? ready(globalThis.Plotly) : setTimeout(look, 20));
    look();
  });
}
