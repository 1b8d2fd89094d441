// The table of signals, what matters most first, and one that is opened.
import { $, h, icon, state, text } from "./dom.js";
import { count, signed, time } from "./format.js";
import { small } from "./bars.js";
import { Detail } from "./detail.js";
import { say } from "./page.js";
import { ranked } from "./rank.js";

const AT_FIRST = 25;

export class Signals {
  constructor() {
    this.rows = new Map();
    this.all = false;
    this.opened = null;
    this.detail = null;
    $("group").onchange = () => this.#show();
    $("find-signal").oninput = () => this.#show();
    $("more-signals").onclick = () => { this.all = true; this.#show(); };
  }

  /** Takes a new verdict, its sentences, and the pictures. */
  update(drift, sentences, pictures) {
    Object.assign(this, { drift, sentences, pictures });
    this.#show();
    this.detail?.update(drift, sentences, pictures);
  }

  /** Opens a signal's details, or closes them with null. */
  open(name, focus = true) {
    this.opened = name;
    this.detail?.close();
    this.detail = null;
    if (name !== null) {
      const place = this.signals.findIndex((each) => each.name === name);
      if (place >= AT_FIRST || !this.#matches(this.signals[place])) {
        this.all = true;
        $("group").value = "";
        $("find-signal").value = "";
      }
      this.detail = new Detail(name);
    }
    this.#show();
    this.detail?.update(this.drift, this.sentences, this.pictures);
    if (focus && name !== null) {
      const button = this.rows.get(name)?.querySelector("button");
      button?.focus();
      button?.scrollIntoView({ block: "nearest" });
    }
  }

  #matches(each) {
    const group = $("group").value;
    const wanted = $("find-signal").value.trim().toLowerCase();
    return (!group || each.group === group) && (!wanted || each.name.toLowerCase().includes(wanted));
  }

  #show() {
    if (!this.drift) return;
    this.signals = ranked(this.drift.signals);
    const found = this.signals.filter((each) => this.#matches(each));
    const shown = this.all ? found : found.slice(0, AT_FIRST);
    const rows = shown.flatMap((each) => {
      const row = this.#row(each);
      return each.name === this.opened && this.detail ? [row, this.detail.element] : [row];
    });
    const body = $("signals");
    // Rows that stand where they stood are left alone, so that focus and text selections stay.
    if (rows.length !== body.children.length || rows.some((row, at) => body.children[at] !== row)) {
      const focus = document.activeElement;
      body.replaceChildren(...rows);
      if (body.contains(focus)) focus.focus();
    }
    $("no-signals").hidden = found.length > 0;
    $("more-signals").hidden = shown.length === found.length;
    text($("more-signals"), `${say("show_all")} (${count(found.length)})`);
  }

  #row(each) {
    let row = this.rows.get(each.name);
    if (!row) {
      row = h("tr", {}, h("td", {}, h("button", { type: "button", class: "name", onclick: () => this.open(this.opened === each.name ? null : each.name, false) }, icon("chevron"), each.name),
        h("span", { class: "group" }, say(`group_${each.group}`))), ...Array.from({ length: 7 }, (_, at) => h("td", { class: [2, 3, 4, 6].includes(at) ? "num" : "" })));
      this.rows.set(each.name, row);
    }
    const picture = this.pictures?.signals?.[each.name];
    const told = JSON.stringify([each, picture]);
    row.querySelector("button").setAttribute("aria-expanded", String(each.name === this.opened));
    if (row.told === told) return row;
    row.told = told;
    row.dataset.state = each.state;
    row.dataset.signal = each.name;
    const [, stateCell, pictureCell, psi, shift, evidence, onset, size] = row.children;
    const severity = each.severity ? h("span", { class: "muted small" }, ` ${say(`severity_${each.severity}`)}`) : "";
    stateCell.replaceChildren(state(each.state, say(`state_${each.state}`)), severity);
    pictureCell.replaceChildren(picture ? small(each.name, picture, each.state === "drift") : "");
    text(psi, each.effect ? Math.max(0, each.effect.psi).toFixed(3) : "–");
    text(shift, each.effect && each.effect.mean_shift_sd !== null ? `${signed(each.effect.mean_shift_sd)} σ` : "–");
    text(evidence, signed(each.evidence, 1));
    onset.replaceChildren(each.onset ? time(each.onset) : "–");
    text(size, count(each.window_size));
    return row;
  }
}
