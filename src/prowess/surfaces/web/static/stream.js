// A stream of events: one for a tab, none for a tab that nobody sees, and again when it breaks off.

import { ask } from "./asking.js";

const HIDDEN_MS = 30_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const LOST = "The connection was lost; trying again …";

export class Stream {
  /** `on` has a function for each kind of event; `trouble` is told what is wrong, or nothing. */
  constructor(on, trouble) {
    this.on = on;
    this.trouble = trouble;
    this.address = null;
    this.cursor = "";
    this.source = null;
    this.pause = FIRST_PAUSE_MS;
    this.timer = 0;
    this.hiding = 0;
    document.addEventListener("visibilitychange", () => this.look());
    addEventListener("online", () => this.reopen());
    addEventListener("pagehide", () => this.close());
    addEventListener("pageshow", (event) => event.persisted && this.reopen());
  }

  /** Listen from now on; `address` makes the address from the id of the last event that has come. */
  follow(address, cursor = "") {
    this.close();
    this.address = address;
    this.cursor = cursor;
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    if (!this.address || this.source || document.hidden) return;
    const source = new EventSource(this.address(this.cursor));
    this.source = source;
    source.addEventListener("open", () => {
      this.pause = FIRST_PAUSE_MS;
      this.trouble("");
    });
    source.addEventListener("error", async () => {
      const words = source.readyState === EventSource.CLOSED ? await this.explain() : LOST;
      if (this.source === source) this.retry(words);
    });
    source.addEventListener("ended", () => this.retry("The connection has ended; trying again …"));
    for (const [kind, take] of Object.entries(this.on)) {
      source.addEventListener(kind, (event) => {
        if (event.lastEventId) this.cursor = event.lastEventId;
        take(JSON.parse(event.data));
      });
    }
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  reopen() {
    this.close();
    this.open();
  }

  retry(words) {
    this.close();
    this.trouble(words);
    this.timer = setTimeout(() => this.open(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }

  /** Ask why there is no stream: what a browser hears of it, it keeps to itself. */
  async explain() {
    try {
      await ask("HEAD", this.address(this.cursor));
    } catch (error) {
      if (error.status === 401) return "You are logged out; reload the page to log in again.";
    }
    return LOST;
  }

  /** Browsers allow few connections to one server: a tab that nobody sees gives its own back. */
  look() {
    clearTimeout(this.hiding);
    if (document.hidden) this.hiding = setTimeout(() => this.close(), HIDDEN_MS);
    else this.open();
  }
}
