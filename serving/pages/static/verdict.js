// The verdict in words a person understands, and the four facts below it.
import { $, h, icon, text } from "./dom.js";
import { around, count, duration, ms, number, percent, power, time } from "./format.js";
import { small } from "./bars.js";
import { lang, say } from "./page.js";
import { ranked } from "./rank.js";

const NAMED = 6;

/** A sentence of the service with its UTC times turned into the viewer's own. */
export function localised(sentence) {
  const parts = sentence.split(/(\d{4}-\d\d-\d\d \d\d:\d\dZ)/);
  return parts.map((part) => (/^\d{4}-.*Z$/.test(part) ? time(part.replace(" ", "T")) : part));
}

/** Fills the head of the page. `open(name)` shows a signal. */
export function verdict(drift, sentences, open) {
  const { state } = drift;
  $("verdict").dataset.state = state;
  $("mark").replaceChildren(icon(state));
  text($("state"), say(`state_${state}`));
  const lasting = (Date.parse(drift.evaluated) - Date.parse(drift.since)) / 1000;
  $("since").replaceChildren(...(state === "no_data" ? [] : [
    ...around(say("since"), time(drift.since)), ` · ${say("for", duration(Math.max(0, lasting)))}`,
  ]));
  $("sentence").replaceChildren(...localised(sentences.sentence ?? drift.sentence));
  $("sure").replaceChildren(...sure(drift, sentences, open));
  const next = advice(drift);
  $("next").hidden = !next;
  $("next").replaceChildren(h("b", {}, say("what_next")), " ", next ?? "");
}

function sure(drift, sentences, open) {
  const said = [];
  const changed = ranked(drift.signals).filter((each) => each.state === drift.state);
  if (["drift", "warning"].includes(drift.state)) {
    // Where none has surely changed by itself, those that moved most together.
    const moved = drift.multivariates.filter((each) => each.state === drift.state);
    if (!changed.length) changed.push(...moved.flatMap((each) => Object.keys(each.moved).map((name) => ({ name }))));
    const chips = changed.slice(0, NAMED).map((each) => h("button", { type: "button", class: "chip", onclick: () => open(each.name) }, each.name));
    const left = changed.length - chips.length;
    if (chips.length) said.push(h("li", { class: "chips" }, say("which"), chips, left ? say("and_more", left) : null));
  }
  if (["drift", "warning", "stable"].includes(drift.state)) {
    const has = (drift.evidence ?? -1) < 0 ? say("under_one") : power(drift.evidence);
    said.push(h("li", {}, say("sure", has, power(-Math.log10(drift.false_alarm.alpha)))));
    said.push(h("li", {}, hurt(drift.accuracy, sentences)));
  }
  said.push(h("li", {}, say("promise", promised(drift.false_alarm.at_most))));
  return said;
}

/** "1 per 30d" in the page's language. */
function promised(told) {
  const found = /^([\d.]+) per ([\d.]+) ?([smhd])$/.exec(told);
  if (!found) return told;
  const unit = say({ s: "second", m: "minute", h: "hour", d: "day" }[found[3]]);
  return lang === "zh" ? `每 ${found[2]} ${unit} ${found[1]} 次` : `${found[1]} per ${found[2]} ${unit}`;
}

/** Whether it does harm: what labels say, or else what is to be expected. */
function hurt({ packaged, estimated, labelled }, sentences) {
  if (labelled?.value !== null && labelled?.value !== undefined) return sentences.labelled ?? labelled.sentence;
  if (!estimated || estimated.unreliable || packaged === null) return say("hurts_unknown");
  const lost = 100 * (packaged - estimated.value);
  return packaged > estimated.high && lost >= 0.5 ? say("hurts_yes", percent(estimated.value), lost.toFixed(1)) : say("hurts_no", percent(estimated.value));
}

function advice(drift) {
  if (drift.state === "no_data") return say("no_data_hint");
  if (drift.state === "insufficient_data") {
    const needed = Math.min(...drift.signals.filter((each) => each.state === "insufficient_data").map((each) => each.needed));
    return say("insufficient_hint", count(drift.window.rows), Number.isFinite(needed) ? count(needed) : "?");
  }
  return { drift: say("next_drift"), warning: say("next_warning") }[drift.state] ?? null;
}

/** The cards: requests, confidence, latency, accuracy. */
export function facts(drift, sentences, pictures) {
  const { window, confidence, latency, accuracy } = drift;
  $("requests").replaceChildren(
    h("p", { class: "big" }, count(window.requests)),
    h("p", {}, window.from ? around(say("window"), time(window.from), time(window.to)) : say("none")),
    h("p", {}, `${say("rows", count(window.rows))} · ${say("total", count(window.requests_total))}`));
  const low = confidence.limit !== null && confidence.low_share !== null;
  const sureness = Object.keys(pictures.signals).find((name) => name.endsWith("top_probability"));
  $("confidence").replaceChildren(
    h("p", { class: "big" }, number(confidence.mean, 3), " ", h("small", {}, confidence.mean === null ? "" : say("confidence_mean"))),
    h("p", {}, confidence.reference_mean === null ? "" : say("reference_value", number(confidence.reference_mean, 3))),
    h("p", {}, low ? say("low_share", percent(confidence.low_share), number(confidence.limit, 2)) : ""),
    sureness ? small(sureness, pictures.signals[sureness], confidence.state === "drift") : "");
  $("latency").replaceChildren(...latencies(latency, sentences.latency ?? latency.sentence));
  $("accuracy").replaceChildren(...accuracies(accuracy, sentences));
}

function latencies(latency, sentence) {
  const base = latency.baseline?.applies === false ? null : latency.baseline;
  const rows = ["p50", "p95", "p99"].map((name) => h("tr", {}, h("th", { scope: "row" }, name),
    h("td", { class: "num" }, ms(latency[`${name}_ms`])),
    h("td", { class: "num" }, base?.[`${name}_ms`] ? say("baseline", ms(base[`${name}_ms`])) : "")));
  const said = [
    latency.slow_share && latency.limit_ms ? say("slow_share", percent(latency.slow_share), number(latency.limit_ms)) : null,
    latency.error_share ? say("errors", percent(latency.error_share)) : null,
  ].filter(Boolean);
  return [h("table", {}, h("tbody", {}, rows)),
    h("p", {}, latency.regressed ? icon("warning") : "", latency.regressed ? " " : "", localised(sentence ?? "")),
    h("p", { class: latency.error_share ? "bad" : "" }, said.join(" · "))];
}

function accuracies({ packaged, estimated, labelled }, sentences) {
  const real = labelled?.value ?? null;
  const first = real ?? estimated?.value ?? null;
  if (first === null) return [h("p", { class: "big" }, "–"), h("p", {}, say("acc_none"))];
  const range = ({ low, high }) => (low === null || low === undefined ? "" : say("window", percent(low), percent(high)));
  const doubt = real === null && estimated?.unreliable;
  return [
    h("p", { class: "big" }, percent(first), " ", h("small", {}, say(real !== null ? "acc_real" : "acc_estimated"))),
    h("p", {}, range(real !== null ? labelled : estimated)),
    real !== null && estimated ? h("p", {}, `${say("acc_estimated")} ${percent(estimated.value)}`) : "",
    packaged === null ? "" : h("p", {}, `${say("acc_packaged")} ${percent(packaged)}`),
    labelled?.harmful ? h("p", { class: "bad" }, sentences.labelled ?? labelled.sentence) : "",
    doubt ? h("p", { title: sentences.estimated ?? estimated.sentence }, icon("warning"), " ", say("acc_doubt")) : "",
  ];
}
