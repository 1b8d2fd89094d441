// Building pages without ever making HTML of a text: every name stays a name.

export const $ = (id) => document.getElementById(id);

/** An element; `props` are properties, except `data` (dataset) and names with a dash (attributes). */
export function h(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (name === "data") Object.assign(made.dataset, value);
    else if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes. */
export function s(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** One of the icons in the page; for eyes only, a word stands beside it. */
export function icon(name) {
  const made = s("svg", { class: "i", "aria-hidden": "true" }, s("use", { href: `#i-${name}` }));
  return made;
}

/** A state: icon, word and colour. */
export function state(name, word) {
  const known = document.getElementById(`i-${name}`) ? name : ICONS[name] ?? "info";
  return h("span", { class: "state", data: { state: name } }, icon(known), word);
}

const ICONS = {
  critical: "drift", error: "drift", major: "drift", moderate: "warning", minor: "warning",
  firing: "drift", resolved: "stable",
};

/** Sets the text, but only where it is another: readers of screens hear changes only. */
export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

/** At most one call of `task` a `wait` milliseconds, the last one never lost; none while hidden. */
export function calmly(task, wait) {
  let due = null;
  let last = 0;
  const run = () => {
    due = null;
    if (document.hidden) return;
    const began = performance.now();
    task();
    // A slow machine gets longer pauses, so that the page always has time for its reader.
    last = performance.now() + Math.min(3 * (performance.now() - began), 2000);
  };
  const ask = () => {
    if (due === null) due = setTimeout(() => requestAnimationFrame(run), Math.max(0, last + wait - performance.now()));
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
  return ask;
}
