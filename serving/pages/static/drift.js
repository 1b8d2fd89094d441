// The drift page: asks for the whole whenever the stream says that something changed.
import { $, calmly, h, text } from "./dom.js";
import { alerts } from "./alerts.js";
import { legend, pairs } from "./bars.js";
import { clock, local, span } from "./detail.js";
import { around, duration, time } from "./format.js";
import { Live } from "./live.js";
import { ask, banner, lang, say } from "./page.js";
import { colours, CONFIG, layout, NARROW, plotly } from "./plot.js";
import { Signals } from "./signals.js";
import { facts, verdict } from "./verdict.js";

const STALE_S = 30;
const AGAIN_MS = 10_000; // what is wrong with the store is not told by the stream
const MOST_POINTS = 1_500;
const signals = new Signals();
const timeline = { points: [], next: 0, asking: false };
let drift = null;
let asked = 0;

async function refresh() {
  asked = Date.now();
  const [told, sentences, pictures] = await Promise.all([
    ask("/drift"), lang === "en" ? {} : ask(`/drift/sentences?lang=${lang}`), ask("/drift/pictures"),
  ]);
  drift = told;
  verdict(drift, sentences, (name) => signals.open(name));
  facts(drift, sentences, pictures);
  signals.update(drift, sentences, pictures);
  mix(pictures.classes);
  health(drift.health);
  stale();
  await history();
}

function mix(parts) {
  const told = parts.filter((each) => each.classes.some((one) => one.window !== null));
  $("mix").hidden = !told.length;
  $("mix-body").replaceChildren(...told.map(({ signal, classes }) => h("div", {}, h("h3", {}, h("code", {}, signal)), legend(),
    pairs(classes.filter((one) => one.name !== null || one.reference > 5e-4 || one.window > 5e-4).map((one) => ({ ...one, name: one.name ?? say("cell_other") }))))));
}

function health(told) {
  const dropped = Object.entries(told.dropped ?? {}).map(([what, times]) => `${what}: ${times}`).join(", ");
  const rows = [["store", told.store], ["evaluator", told.evaluator], ["alerts", told.alerts], ["dropped", dropped || say("none")]];
  $("health").replaceChildren(...rows.flatMap(([name, said]) => [h("dt", {}, say(`h_${name}`)),
    h("dd", { class: said === "ok" || name === "dropped" ? "" : "bad" }, said === "ok" ? say("h_ok") : said)]));
  $("evaluated").replaceChildren(...around(say("evaluated"), time(drift.evaluated, true)));
}

function stale() {
  if (Date.now() - asked > AGAIN_MS && live.state === "live") ask_again();
  if (!drift) return;
  const age = (Date.now() + live.skew - Date.parse(drift.evaluated)) / 1000;
  const never = drift.state === "no_data" && drift.window.requests_total === 0;
  banner("stale", age > STALE_S && !never ? say("stale", duration(age)) : "");
  banner("store", drift.health.store === "ok" ? "" : say("store_away", drift.health.store));
}

/** Asks for the points that are new; one question at a time, so that none comes twice. */
async function history() {
  if (timeline.asking) return;
  timeline.asking = true;
  try {
    let told;
    do {
      told = await ask(`/drift/timeline?after=${timeline.next}`);
      timeline.points.push(...told.points);
      timeline.next = told.next;
    } while (told.points.length >= 500);
    timeline.points.splice(0, timeline.points.length - MOST_POINTS);
  } finally {
    timeline.asking = false;
  }
  draw();
}

async function draw() {
  const { points } = timeline;
  text($("timeline-hint"), points.length ? say("timeline_hint") : say("timeline_none"));
  if (!points.length) return;
  const library = await plotly();
  const look = colours();
  const x = points.map((each) => local(each.at));
  const needed = -Math.log10(drift.false_alarm.alpha);
  const onset = points.at(-1).onset;
  const tone = { drift: look.drift, warning: look.warning, stable: look.stable };
  const lines = [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: needed, y1: needed, line: { color: look.drift, width: 1.2, dash: "dash" } }];
  if (onset) lines.push({ type: "line", x0: local(onset), x1: local(onset), yref: "paper", y0: 0, y1: 1, line: { color: look.drift, width: 1.5, dash: "dot" } });
  const y = points.map((each) => Math.max(each.evidence ?? -1, -1)); // without data it is null
  library.react($("timeline"), [
    { type: "scatter", mode: "lines", x, y, hoverinfo: "skip", line: { color: look.accent, width: 2 }, fill: "tozeroy", fillcolor: "rgba(0,0,0,0)" },
    { type: "scatter", mode: "markers", x: x.slice(-1), y: y.slice(-1), hoverinfo: "skip", cliponaxis: false, marker: { size: 9, color: tone[points.at(-1).state] ?? look.quiet } },
  ], layout(look, {
    height: 222, dragmode: false, shapes: lines, margin: { l: 40, r: 14, t: 8, b: 26 },
    xaxis: { type: "date", fixedrange: true, nticks: innerWidth < NARROW ? 3 : 6, tickangle: 0, range: span(points), tickformat: clock(points) },
    yaxis: { nticks: 4, range: [-1, Math.max(needed, ...y) * 1.08 + 0.2] },
  }), { ...CONFIG, responsive: true });
}

for (const each of document.querySelectorAll("time[data-moment]")) each.replaceWith(time(each.dateTime));
const ask_again = calmly(() => refresh().catch(failed), 700);
const failed = (error) => { if (!(error instanceof TypeError)) banner("drift", error.message); };
const live = new Live({
  sources: () => [["topic", "drift"], ["topic", "alerts"]],
  on: { drift: ask_again, alerts: () => alerts().catch(failed) },
  poll: () => Promise.all([refresh(), alerts()]),
});
document.addEventListener("themechange", draw);
setInterval(stale, 1_000);
await Promise.all([refresh(), alerts()]).catch(failed);
