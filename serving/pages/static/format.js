// Numbers with units, and times in the viewer's own zone with UTC on hover.
import { h } from "./dom.js";
import { lang, say } from "./page.js";

const LOCALE = lang === "zh" ? "zh-CN" : "en-GB";
const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });

/** Four significant digits; very large and very small numbers with an exponent. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) {
    const [mantissa, exponent] = value.toExponential(Math.min(digits - 1, 2)).split("e");
    return `${minus(mantissa)}×10${raised(Number(exponent))}`;
  }
  if (Number.isInteger(value)) return minus(whole.format(value));
  const after = Math.max(0, digits - 1 - Math.floor(Math.log10(size || 1)));
  return minus(value.toLocaleString(LOCALE, { minimumFractionDigits: Math.min(after, 6), maximumFractionDigits: Math.min(after, 6) }));
}

export const count = (value) => (value === null || value === undefined ? "–" : whole.format(value));
export const percent = (share, digits = 1) =>
  share === null || share === undefined ? "–" : `${minus((100 * share).toFixed(digits))} %`;
export const signed = (value, digits = 2) =>
  value === null || value === undefined ? "–" : sign(value.toFixed(digits));
export const ms = (value) => (value === null || value === undefined ? "–" : `${number(value, 3)} ms`);

// What is rounded to nothing has no sign.
const sign = (text) => (Number(text) === 0 ? text.replace("-", "") : `${text.startsWith("-") ? "" : "+"}${minus(text)}`);
const minus = (text) => text.replace("-", "−");
const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const raised = (exponent) => [...String(exponent)].map((sign) => RAISED[sign]).join("");

/** Ten to a power as people write odds: 1,200 or 10⁹. */
export const power = (log10) =>
  log10 < 6 ? count(Math.round(10 ** Math.max(log10, 0))) : `10${raised(Math.round(log10))}`;

/** A duration in its two largest units. */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  const parts = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  let rest = Math.max(0, Math.round(seconds));
  const said = [];
  for (const [size, unit] of parts) {
    const amount = Math.floor(rest / size);
    if (amount && said.length < 2) said.push(`${amount} ${say(unit)}`);
    else if (said.length) break;
    rest -= amount * size;
  }
  return said.join(" ") || `0 ${say("second")}`;
}

/** A moment as text: the hour, with the day where that is not today. */
export function moment(at, seconds = false) {
  const date = new Date(at);
  const today = new Date().toDateString() === date.toDateString();
  return date.toLocaleString(LOCALE, {
    ...(today ? {} : { year: "numeric", month: "short", day: "numeric" }),
    hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}), hourCycle: "h23",
  });
}

/** A moment as an element that says UTC on hover. */
export function time(iso, seconds = false) {
  if (!iso) return h("span", {}, "–");
  const utc = `${new Date(iso).toISOString().replace("T", " ").slice(0, 19)} UTC`;
  return h("time", { dateTime: iso, title: utc }, moment(iso, seconds));
}

/** Text with an element in the place of {}. */
export function around(said, ...elements) {
  const parts = said.split("{}");
  return parts.flatMap((part, at) => (at < elements.length ? [part, elements[at]] : [part]));
}
