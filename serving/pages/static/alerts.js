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
  const focus = document.activeElement?.dataset?.alert;
  $("alerts").replaceChildren(...(told.open.length ? told.open.map(one) : [h("li", { class: "muted" }, say("alerts_none"))]));
  $("by").hidden = told.open.every((each) => each.acknowledged);
  $("past").hidden = !told.past.length;
  $("past-alerts").replaceChildren(...told.past.slice(0, PAST).map(one));
  if (focus) document.querySelector(`[data-alert="${CSS.escape(focus)}"]`)?.focus();
}

function one(alert) {
  const open = alert.state === "firing";
  const words = alert.sentence[lang] ?? alert.sentence.en;
  const taken = alert.acknowledged;
  return h("li", { data: { id: alert.id } },
    h("div", { class: "alert-head" },
      open ? state(alert.severity, say(`severity_${alert.severity}`)) : state("resolved", say("resolved")),
      h("span", { class: "muted small" }, around(say("opened"), time(alert.opened)),
        ...(alert.until ? [" · ", ...around(say("ended"), time(alert.until))] : [])),
      open && !taken ? h("button", { type: "button", "aria-label": say("acknowledge_one", words), data: { alert: alert.id }, onclick: (event) => take(alert, event.currentTarget) }, say("acknowledge")) : null),
    h("p", {}, alert.kind === "training" ? [training(alert.version), " · "] : null, localised(words)),
    taken ? h("p", { class: "taken" }, around(say("acknowledged"), taken.by, time(taken.at))) : null);
}

/** The training that an alert is about, one click away. */
const training = (run) => h("a", { href: `/training#${new URLSearchParams([["run", run]])}` }, run);

/** Takes an alert on, in the name that stands above; asks for one first. */
async function take(alert, button) {
  const by = $("by").value.trim();
  if (!by) {
    $("by").focus();
    $("by").classList.add("wanted");
    return;
  }
  button.disabled = true;
  try {
    await ask(`/alerts/${encodeURIComponent(alert.id)}/acknowledge`, {
      method: "POST", body: JSON.stringify({ by }), headers: { "Content-Type": "application/json" },
    });
    banner("acknowledge", "");
    await alerts();
  } catch (error) {
    banner("acknowledge", say("failed_acknowledge", error.message));
  } finally {
    button.disabled = false;
  }
}

try { $("by").value = localStorage.getItem(NAME) ?? ""; } catch { /* then it is typed anew */ }
$("by").addEventListener("input", (event) => {
  event.target.classList.remove("wanted");
  try { localStorage.setItem(NAME, event.target.value); } catch { /* for this time only */ }
});
