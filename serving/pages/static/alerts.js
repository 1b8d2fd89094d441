// Alerts that are open, with a button to take them on, and those that are over.
import { $, h, state } from "./dom.js";
import { around, time } from "./format.js";
import { ask, banner, lang, say } from "./page.js";
import { localised } from "./verdict.js";

const PAST = 20;
const NAME = "driftline-name";

let shown = "";

/** Asks for the alerts and shows them; leaves the page alone where nothing changed. */
export async function alerts() {
  const told = await ask("/alerts");
  const key = JSON.stringify(told);
  if (key === shown) return;
  shown = key;
  const typed = new Map([...document.querySelectorAll("#alerts input")].map((each) => [each.dataset.alert, each.value]));
  const focus = document.activeElement?.dataset?.alert;
  $("alerts").replaceChildren(...(told.open.length ? told.open.map((each) => one(each, typed)) : [h("li", { class: "muted" }, say("alerts_none"))]));
  $("past").hidden = !told.past.length;
  $("past-alerts").replaceChildren(...told.past.slice(0, PAST).map((each) => one(each, typed)));
  if (focus) document.querySelector(`[data-alert="${CSS.escape(focus)}"]`)?.focus();
}

function one(alert, typed) {
  const open = alert.state === "firing";
  const words = typeof alert.sentence === "string" ? alert.sentence : alert.sentence[lang] ?? alert.sentence.en;
  return h("li", { data: { id: alert.id } },
    h("div", { class: "alert-head" },
      open ? state(alert.severity, say(`severity_${alert.severity}`)) : state("resolved", say("resolved")),
      h("span", { class: "muted small" }, around(say("opened"), time(alert.opened)),
        ...(alert.until ? [" · ", ...around(say("ended"), time(alert.until))] : []))),
    h("p", {}, localised(words)),
    alert.acknowledged ? h("p", { class: "taken" }, around(say("acknowledged"), alert.acknowledged.by, time(alert.acknowledged.at))) : open ? form(alert, words, typed) : null);
}

function form(alert, words, typed) {
  let name = typed.get(alert.id) ?? "";
  try { name ||= localStorage.getItem(NAME) ?? ""; } catch { /* then it is typed anew */ }
  const input = h("input", { type: "text", name: "by", value: name, required: true, maxLength: 80, placeholder: say("your_name"), "aria-label": say("your_name"), data: { alert: alert.id } });
  const button = h("button", { type: "submit", "aria-label": say("acknowledge_one", words) }, say("acknowledge"));
  const send = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      try { localStorage.setItem(NAME, input.value); } catch { /* for this time only */ }
      await ask(`/alerts/${encodeURIComponent(alert.id)}/acknowledge`, {
        method: "POST", body: JSON.stringify({ by: input.value }), headers: { "Content-Type": "application/json" },
      });
      banner("acknowledge", "");
      await alerts();
    } catch (error) {
      banner("acknowledge", say("failed_acknowledge", error.message));
    } finally {
      button.disabled = false;
    }
  };
  return h("form", { onsubmit: send }, input, button);
}
