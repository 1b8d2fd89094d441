// The training page: which runs are shown, and what arrives for them.
import { $, calmly, h, icon, state, text } from "./dom.js";
import { count, duration, number, time } from "./format.js";
import { Board, Line } from "./board.js";
import { Heat } from "./heat.js";
import { Live } from "./live.js";
import { LAYER, section, title, unit } from "./metrics.js";
import { ask, lang, say } from "./page.js";
import { Series } from "./series.js";

const MOST_SHOWN = 8;
const TILES = ["loss", "lr", "grad_norm", "samples_per_second"];
const MOST_TILES = 8;
const runs = new Map(); // name → overview, the one heard of last first
const shown = new Map(); // name → Line, in the order chosen
let chosen = false; // by hand; until then the page goes to the newest run when its own is over

const board = new Board($("charts"), { onCursor: () => {} });
const heat = new Heat();
const refresh = calmly(() => { tiles(); events(); }, 250);

function read() {
  const names = new URLSearchParams(location.hash.slice(1)).getAll("run").slice(0, MOST_SHOWN);
  chosen = names.length > 0;
  names.forEach(add);
}

function add(name) {
  const used = new Set([...shown.values()].map((line) => line.colour));
  const colour = [...Array(MOST_SHOWN).keys()].find((each) => !used.has(each)) ?? 0;
  if (!shown.has(name)) shown.set(name, new Line(new Series(name), colour));
}

/** Shows one run alone, or lays it over the others. */
function choose(name, over) {
  chosen = true;
  if (!over) {
    const kept = shown.get(name);
    shown.clear();
    if (kept) shown.set(name, kept);
    else add(name);
  } else if (!shown.has(name)) {
    if (shown.size < MOST_SHOWN) add(name);
  } else if (shown.size > 1) shown.delete(name);
  history.replaceState(null, "", `#${new URLSearchParams([...shown.keys()].map((each) => ["run", each]))}`);
  follow();
}

function follow() {
  const first = front();
  $("view").hidden = !first;
  board.show([...shown.values()]);
  heat.show(first?.whole.steps.length ? first.whole.run : null);
  live.open();
  list();
  heading();
  refresh();
}

const front = () => [...shown.values()][0];

function list() {
  const wanted = $("find-run").value.trim().toLowerCase();
  $("find-run").hidden = runs.size < 8;
  const found = [...runs.values()].filter((each) => each.run.toLowerCase().includes(wanted));
  const rows = found.map((each) => {
    const line = shown.get(each.run);
    const over = h("input", { type: "checkbox", checked: Boolean(line), onchange: () => choose(each.run, true),
      "aria-label": say("compare_run", each.run), title: say("compare") });
    const open = h("button", { type: "button", class: "run", onclick: () => choose(each.run, false),
      "aria-current": front()?.whole.run === each.run ? "true" : null },
      h("span", { class: "run-title" }, line ? h("i", { class: `swatch c${line.colour % 8} d${line.dash % 6}` }) : null, each.run),
      h("span", { class: "run-more" }, state(each.state, say(`run_${each.state}`)),
        each.last_step === null ? null : h("span", {}, say("run_step", count(each.last_step))),
        each.loss === null ? null : h("span", {}, `${title("loss")} ${number(each.loss)}`),
        each.events ? h("span", { class: "state", data: { state: "warning" } }, icon("warning"), count(each.events)) : null));
    return h("li", { data: { run: each.run } }, over, open);
  });
  // What has the focus keeps it: the list is built anew each second while a training runs.
  const focus = document.activeElement?.closest("#runs li")?.dataset.run;
  const box = document.activeElement?.type === "checkbox";
  $("runs").replaceChildren(...rows);
  if (focus !== undefined) [...$("runs").children].find((row) => row.dataset.run === focus)?.querySelector(box ? "input" : "button")?.focus();
  $("empty").hidden = runs.size > 0;
}

function heading() {
  const line = front();
  if (!line) return;
  const name = line.whole.run;
  text($("run-name"), name);
  document.title = `${name} · ${say("title")} · driftline`;
  const told = runs.get(name);
  $("run-state").replaceChildren(...(told ? state(told.state, say(`run_${told.state}`)).childNodes : []));
  $("run-state").dataset.state = told?.state ?? "";
  $("waiting").hidden = line.whole.steps.length > 0;
  text($("waiting"), runs.size && !told ? say("gone") : say("no_points"));
  if (told) reported(name, told.state);
}

/** Offers the training's report; asked for when the run is opened and when its state changes. It is
 * written after the training said that it ended: then it is asked for again, for a minute. */
let asked = "";
async function reported(name, now, times = 0) {
  const question = `${now} ${name}`;
  if (!times && asked === question) return;
  asked = question;
  const path = `/runs/${encodeURIComponent(name)}`;
  let told = {};
  try { told = await ask(path); } catch { /* asked again below */ }
  if (asked !== question) return;
  $("report").hidden = !told.report;
  $("report").href = `${path}/report`;
  if (now !== "ended" || told.report || times >= 12) return;
  setTimeout(() => { if (asked === question) reported(name, now, times + 1); }, 5_000);
}

function tiles() {
  const line = front();
  if (!line) return;
  const series = line.whole;
  const custom = [...series.names.keys()].filter((name) => section(name) === "custom");
  const names = [...TILES, ...custom].filter((name) => series.names.has(name));
  const last = series.steps.length - 1;
  const told = [
    [say("step"), count(series.lastStep), ""],
    ...(series.names.has("epoch") ? [[say("epoch"), number(series.latest("epoch")?.value), ""]] : []),
    [say("elapsed"), last < 0 ? "–" : duration(series.times[last] - series.times[0]), ""],
    ...names.map((name) => [title(name), number(series.latest(name)?.value), unit(name)]),
  ].slice(0, MOST_TILES);
  const place = $("tiles");
  while (place.children.length > told.length) place.lastChild.remove();
  told.forEach(([name, value, unitOf], at) => {
    if (!place.children[at]) place.append(h("div", {}, h("dt"), h("dd", {}, h("span"), " ", h("small"))));
    const [dt, dd] = place.children[at].children;
    text(dt, name);
    text(dd.firstElementChild, value);
    text(dd.lastElementChild, unitOf);
  });
}

let eventsShown = "";
function events() {
  const all = [...shown.values()].flatMap((line) => line.whole.events.map((event) => ({ line, event })));
  all.sort((a, b) => b.event.time.localeCompare(a.event.time));
  const newest = all.slice(0, 100);
  const key = JSON.stringify([[...shown.keys()], newest.map(({ event }) => [event.step, event.rule, event.time])]);
  if (key === eventsShown) return;
  eventsShown = key;
  const word = (severity) => say(`severity_${severity}`).replace("severity_", "");
  $("events").replaceChildren(...(newest.length ? newest.map(({ line, event }) => h("li", {},
    state(event.severity, word(event.severity)),
    h("div", {}, h("p", {}, lang === "zh" ? event.sentence_zh ?? event.sentence : event.sentence), h("p", { class: "muted small" },
      h("code", {}, event.rule), " · ", shown.size > 1 ? `${line.whole.run} · ` : "", time(event.time, true))),
    h("button", { type: "button", "aria-label": say("show_event", count(event.step)), onclick: () => showEvent(line, event) },
      say("event_at", count(event.step))))) : [h("li", { class: "muted" }, say("no_events"))]));
}

function showEvent(line, event) {
  const [low, high] = board.extent();
  const at = line.at(event.step);
  const reach = Math.max((high - low) / 20, 1e-9);
  board.zoom([Math.max(low, at - reach), Math.min(high, at + reach)]);
  board.cursor(at);
  $("charts").scrollIntoView({ block: "start" });
}

function listed(told) {
  runs.clear();
  for (const each of told.runs) runs.set(each.run, each);
  // Of two that are under way neither takes the page from the other.
  const over = runs.get(front()?.whole.run)?.state !== "live";
  if (!chosen && runs.size && over && front()?.whole.run !== told.runs[0].run) {
    shown.clear();
    add(told.runs[0].run);
    follow();
  }
  list();
  heading();
}

function history_(told) {
  const line = shown.get(told.run);
  if (!line) return;
  line.whole.load(told);
  line.detail = null;
  if (line === front() && (told.names ?? []).some((name) => name.startsWith(LAYER)) && heat.run !== told.run) heat.show(told.run);
  arrived();
}

function points(told) {
  const line = shown.get(told.run);
  if (!line) return;
  if (line === front()) {
    if (heat.run === told.run) heat.append(told);
    else if (Object.keys(told.series).some((name) => name.startsWith(LAYER))) heat.show(told.run);
  }
  const series = Object.fromEntries(Object.entries(told.series).filter(([name]) => !name.startsWith(LAYER)));
  line.whole.append({ ...told, series });
  arrived();
}

function arrived() {
  board.changed();
  heading();
  refresh();
}

async function poll() {
  listed(await ask("/runs"));
  await Promise.all([...shown.values()].map(async ({ whole }) => {
    const path = `/runs/${encodeURIComponent(whole.run)}`;
    if (!whole.after) {
      const [run, told] = await Promise.all([ask(path), ask(`${path}/points?without=${encodeURIComponent(LAYER)}`)]);
      history_({ ...told, events: run.events, names: Object.keys(run.latest) });
    } else points(await ask(`${path}/points?after=${whole.after}`));
  }));
}

function control(id, event, apply) {
  const key = `driftline-${id}`;
  const element = $(id);
  const kind = element.type === "checkbox" ? "checked" : "value";
  try {
    const kept = localStorage.getItem(key);
    if (kept !== null) element[kind] = kind === "checked" ? kept === "true" : kept;
  } catch { /* the page's own */ }
  const take = () => {
    try { localStorage.setItem(key, String(element[kind])); } catch { /* then for this page only */ }
    apply(element[kind]);
  };
  element.addEventListener(event, take);
  apply(element[kind]);
}

control("smoothing", "input", (value) => { text($("smoothing-value"), Number(value).toFixed(2)); board.set({ smoothing: Number(value) }); });
control("log", "change", (log) => board.set({ log }));
control("axis", "change", (axis) => board.set({ axis }));
$("zoom-in").onclick = () => board.scale(0.5);
$("zoom-out").onclick = () => board.scale(2);
$("zoom-reset").onclick = () => board.zoom(null);
$("find-metric").oninput = (event) => board.filter(event.target.value);
$("find-run").oninput = list;
$("snippet").textContent = `from driftline.train_side import TrainingMonitor\n\nmonitor = TrainingMonitor("runs/first", board="${location.origin}")\nmodel.train(epochs, dataset, callbacks=[monitor])`;

read();
const live = new Live({
  sources: () => [["topic", "runs"], ["without", LAYER], ...[...shown.keys()].map((run) => ["run", run])],
  on: { runs: listed, history: history_, points },
  poll,
});
if (shown.size) follow();
