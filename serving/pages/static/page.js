// What the server wrote into the page: its words; and the banner on top.
import { $, h, icon } from "./dom.js";

const data = JSON.parse($("page-data").textContent);
export const lang = data.lang;
export const locale = lang === "zh" ? "zh-Hans" : "en";

/** A text of the page, its {} filled in one after the other; those without a value stay. */
export function say(key, ...values) {
  const said = data.words[key] ?? key;
  let at = 0;
  return said.replace(/\{\}/g, (gap) => (at < values.length ? String(values[at++] ?? "") : gap));
}

/** True when there is such a text. */
export const knows = (key) => key in data.words;

// The other language shows the same runs.
$("language").addEventListener("click", (event) => { event.currentTarget.hash = location.hash; });

const problems = new Map();

/** Shows what is wrong under a name, or with an empty text takes it away. */
export function banner(name, said) {
  if ((problems.get(name) ?? "") === said) return;
  if (said) problems.set(name, said);
  else problems.delete(name);
  const place = $("banner");
  place.hidden = problems.size === 0;
  place.replaceChildren(...[...new Set(problems.values())].map((each) => h("p", {}, icon("warning"), each)));
}

/** JSON of this service; on 401 the page goes to sign in. */
export async function ask(path, options = {}) {
  const answer = await fetch(path, { headers: { Accept: "application/json", ...options.headers }, ...options });
  if (answer.status === 401) {
    location.assign(`/sign-in?next=${encodeURIComponent(location.pathname)}`);
    throw new Error("401");
  }
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error?.message ?? answer.statusText);
  return told;
}

addEventListener("unhandledrejection", (event) => {
  // While the service is away the banner says so already.
  if (!(event.reason instanceof TypeError)) banner("failed", say("failed", event.reason?.message ?? ""));
  else event.preventDefault();
});
