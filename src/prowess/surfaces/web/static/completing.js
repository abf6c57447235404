// Names of skills while a message is typed, where they count: after / at the start, after $ anywhere. In a list that the
// arrow keys go through.

import { ask, path } from "./asking.js";

/** At the start several may stand in a row. What is sent has no blanks around it. */
const AT_START = /^\s*(?:[/$]\S+\s+)*([/$][^\s/$]*)$/;
const INSIDE = /(?:^|[^\p{L}\p{N}_-])(\$[\p{L}\p{N}_-]*)$/u;
const PAUSE_MS = 80;

export class Completions {
  constructor(field, list, { conversation, announce }) {
    this.field = field;
    this.list = list;
    this.conversation = conversation;
    this.announce = announce;
    this.found = [];
    this.chosen = 0;
    this.asked = 0;
    field.addEventListener("input", () => this.look());
    field.addEventListener("blur", () => this.close());
    list.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // The field keeps the focus.
      const row = event.target.closest("[data-index]");
      if (row) this.insert(Number(row.dataset.index));
    });
  }

  get isOpen() {
    return !this.list.hidden;
  }

  typed() {
    const { value, selectionStart, selectionEnd } = this.field;
    if (selectionStart !== selectionEnd) return "";
    const before = value.slice(0, selectionStart);
    return (AT_START.exec(before) ?? INSIDE.exec(before))?.[1] ?? "";
  }

  look() {
    clearTimeout(this.timer);
    if (!this.typed()) return this.close();
    this.timer = setTimeout(() => this.fetch(), PAUSE_MS);
  }

  async fetch() {
    const typed = this.typed();
    if (!typed) return this.close();
    const number = ++this.asked;
    try {
      const place = path("conversations", await this.conversation(), "completions");
      const answer = await ask("GET", `${place}?typed=${encodeURIComponent(typed)}`);
      if (number === this.asked && this.typed() === typed) this.show(answer.completions ?? []);
    } catch {
      this.close();
    }
  }

  show(found) {
    this.found = found;
    if (!found.length) return this.close();
    this.list.replaceChildren(...found.map((one, index) => this.row(one, index)));
    this.list.hidden = false;
    this.choose(0);
    this.announce(`${found.length} ${found.length === 1 ? "skill" : "skills"}: arrow keys choose, Tab or Enter takes one`);
  }

  row(one, index) {
    const row = document.createElement("li");
    row.id = `completion-${index}`;
    row.setAttribute("role", "option");
    row.dataset.index = String(index);
    for (const [kind, text] of [["name", one.mention.trim() || one.name], ["hint", one.hint], ["about", one.description]]) {
      if (!text) continue;
      const part = document.createElement("span");
      part.className = kind;
      part.textContent = text;
      row.append(part, " ");
    }
    return row;
  }

  choose(index) {
    this.chosen = (index + this.found.length) % this.found.length;
    [...this.list.children].forEach((row, at) => row.setAttribute("aria-selected", String(at === this.chosen)));
    const row = this.list.children[this.chosen];
    row.scrollIntoView({ block: "nearest" });
    this.field.setAttribute("aria-activedescendant", row.id);
  }

  insert(index) {
    const { value, selectionStart } = this.field;
    const start = selectionStart - this.typed().length;
    this.field.setRangeText(this.found[index].mention, start, selectionStart, "end");
    this.close();
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
    if (value !== this.field.value) this.field.focus();
  }

  close() {
    clearTimeout(this.timer);
    this.asked += 1;
    this.list.hidden = true;
    this.field.removeAttribute("aria-activedescendant");
  }

  /** Take a key, if the list is open and the key is for it. */
  take(event) {
    if (!this.isOpen || event.isComposing) return false;
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) this.choose(this.chosen + moves[event.key]);
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) this.insert(this.chosen);
    else if (event.key === "Escape") this.close();
    else return false;
    event.preventDefault();
    return true;
  }
}
