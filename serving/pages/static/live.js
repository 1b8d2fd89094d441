// The stream of changes: opened, resumed where it broke, and replaced by asking while there is no
// place for it.
import { $, text } from "./dom.js";
import { moment } from "./format.js";
import { banner, say } from "./page.js";

const SILENT_MS = 13_000; // the service sends a beat each 5 s
const POLL_MS = 2_000;
const AGAIN_MS = 15_000;

/**
 * Follows `/stream`.
 *
 * `sources()` gives [name, value] pairs of the query; `on` maps events to functions of their data;
 * `poll()` asks for the same things once, and is called while there is no stream.
 */
export class Live {
  constructor({ sources, on, poll }) {
    this.sources = sources;
    this.on = { beat: (beat) => this.#beat(beat), ...on };
    this.poll = poll;
    this.cursors = {};
    this.heard = Date.now();
    this.skew = 0; // the service's clock less ours, in ms
    this.state = "connecting";
    setInterval(() => this.#watch(), 1_000);
    addEventListener("online", () => this.open());
    this.open();
  }

  /** Opens the stream, or opens it anew because other things are wanted. */
  open() {
    this.#close();
    const query = new URLSearchParams(this.sources());
    const wanted = new Set(query.getAll("run").map((run) => `run:${run}`).concat(query.getAll("topic")));
    for (const name of Object.keys(this.cursors)) if (!wanted.has(name)) delete this.cursors[name];
    if (Object.keys(this.cursors).length) query.set("last", JSON.stringify(this.cursors));
    if (!wanted.size) return;
    const stream = new EventSource(`/stream?${query}`);
    this.stream = stream;
    stream.onopen = () => this.#hear(stream);
    stream.onerror = () => this.#broken(stream);
    for (const [name, take] of Object.entries(this.on)) {
      stream.addEventListener(name, (event) => {
        if (this.stream !== stream) return;
        this.#hear(stream);
        take(JSON.parse(event.data));
        if (event.lastEventId) this.cursors = JSON.parse(event.lastEventId);
      });
    }
  }

  #close() {
    this.stream?.close();
    clearTimeout(this.again);
    clearInterval(this.polling);
    this.polling = undefined;
  }

  #hear(stream) {
    if (this.stream !== stream) return;
    this.heard = Date.now();
    this.#show("live");
    banner("offline", "");
  }

  #beat(beat) {
    this.skew = beat.at * 1000 - Date.now();
    banner("beat", beat.store === "ok" ? "" : say("store_away", beat.store));
  }

  #broken(stream) {
    if (this.stream !== stream) return;
    if (stream.readyState !== EventSource.CLOSED) {
      this.#show("reconnecting"); // the browser tries again, and says where it was
      return;
    }
    // Refused: all places are taken, or the answer was an error.
    this.#ask();
    this.polling ??= setInterval(() => this.#ask(), POLL_MS);
    this.again = setTimeout(() => this.open(), AGAIN_MS);
  }

  async #ask() {
    try {
      await this.poll();
      this.heard = Date.now();
      if (this.polling) this.#show("polling");
      banner("offline", "");
    } catch {
      this.#show("reconnecting");
    }
  }

  #watch() {
    const silent = Date.now() - this.heard;
    if (silent > 4_000 && this.state === "reconnecting") banner("offline", say("offline", moment(this.heard, true)));
    if (silent > SILENT_MS && !this.polling && !document.hidden) {
      // A connection that died without a word. What was missed comes with the next one.
      this.#show("reconnecting");
      if (Date.now() - (this.tried ?? 0) > SILENT_MS) {
        this.tried = Date.now();
        this.open();
      }
    }
  }

  #show(state) {
    this.state = state;
    const place = $("link");
    place.dataset.state = state;
    text(place.lastElementChild, state === "polling" ? say("polling", POLL_MS / 1000) : say(state));
  }
}
