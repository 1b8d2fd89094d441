// What a metric is called, its unit, and in which part of the page it stands.
import { knows, say } from "./page.js";
import { VALUES } from "./values.js";

export const LAYER = "grad_norm/";
const PLACES = new Map(Object.entries(VALUES).flatMap(([place, names]) => names.map((name) => [name, place])));
const ORDER = [...PLACES.keys()];
const UNITS = { samples_per_second: () => say("unit_samples"), step_seconds: () => "s", data_wait: () => say("unit_share") };
// Where a metric says its unit at the end of its name.
const SUFFIXES = [
  [/_(celsius|temperature_c)$/, "°C"], [/_(percent|pct)$/, "%"], [/_(gb|gib)$/i, "GB"], [/_(mb|mib)$/i, "MB"],
  [/_bytes$/, "MB"], [/_watts?$/, "W"], [/_seconds$/, "s"], [/_ms$/, "ms"],
];

export const SECTIONS = ["main", "custom", "more", "hardware"];

/** A name with the number of its device taken out, and that number. */
function plain(name) {
  const found = /^(gpu|npu)(\d+)(\/.*)$/.exec(name);
  return found ? [`${found[1]}{}${found[3]}`, found[2]] : [name, null];
}

/** Which section a name belongs to; null where it is no curve of its own. */
export function section(name) {
  if (name.startsWith(LAYER)) return null;
  if (name.startsWith("loss/") || name.startsWith("lr/")) return "more";
  const place = PLACES.get(plain(name)[0]) ?? "custom";
  return place === "hidden" ? null : place;
}

/** Names in the order in which they stand in their section. */
export function ordered(names) {
  const place = (name) => (PLACES.has(plain(name)[0]) ? ORDER.indexOf(plain(name)[0]) : ORDER.length);
  return [...names].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
}

/** What people call it. */
export function title(name) {
  const [known, device] = plain(name);
  if (PLACES.has(known) && knows(known)) return say(known, device);
  for (const whole of ["loss", "lr"]) {
    if (name.startsWith(`${whole}/`)) return say("part_of", say(whole), name.slice(whole.length + 1));
  }
  return name;
}

/** False for what is exact, or an average already: smoothing would only tell it late. */
export const noisy = (name) => !/^(lr(\/|$)|loss_smoothed$|epoch_|loss_scale$|overflow$)/.test(name);

/** What its values are multiplied with before they are shown in their unit. */
export const scale = (name) => (name.endsWith("_bytes") ? 1e-6 : 1);

/** Its unit, or an empty text. */
export function unit(name) {
  return UNITS[name]?.() ?? SUFFIXES.find(([end]) => end.test(name))?.[1] ?? "";
}
