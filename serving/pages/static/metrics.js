// What a metric is called, its unit, and in which part of the page it stands.
import { say } from "./page.js";

export const LAYER = "grad_norm/";
const MAIN = ["loss", "lr", "grad_norm", "samples_per_second"];
const MORE = [
  "loss_smoothed", "epoch_loss", "epoch_loss_sd", "perplexity", "grad_cv", "step_seconds", "data_wait", "param_norm",
  "update_ratio", "loss_scale", "overflow",
];
const UNITS = { samples_per_second: () => say("unit_samples"), step_seconds: () => "s", data_wait: () => say("unit_share") };
const HIDDEN = new Set(["lr_scheduled", "epoch"]);
const HARDWARE = /^(cpu|gpu|npu|mem|memory|ram|rss|disk|device|hardware|host|process|ascend|nvidia|temperature|power)([_/.:]|\d|$)/;
// Where a metric says its unit at the end of its name.
const SUFFIXES = [
  [/_(celsius|temperature_c)$/, "°C"], [/_(percent|pct)$/, "%"], [/_(gb|gib)$/i, "GB"], [/_(mb|mib)$/i, "MB"],
  [/_bytes$/, "MB"], [/_(watts?|w)$/, "W"], [/_(seconds|s)$/, "s"], [/_ms$/, "ms"],
];

export const SECTIONS = ["main", "custom", "more", "hardware"];

/** Which section a name belongs to; null where it is no curve of its own. */
export function section(name) {
  if (HIDDEN.has(name) || name.startsWith(LAYER)) return null;
  if (MAIN.includes(name)) return "main";
  if (MORE.includes(name) || name.startsWith("loss/") || name.startsWith("lr/")) return "more";
  return HARDWARE.test(name) ? "hardware" : "custom";
}

/** Names in the order in which they stand in their section. */
export function ordered(names) {
  const known = [...MAIN, ...MORE];
  const place = (name) => (known.includes(name) ? known.indexOf(name) : known.length);
  return [...names].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
}

/** What people call it. */
export function title(name) {
  if (MAIN.includes(name) || MORE.includes(name)) return say(name);
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
