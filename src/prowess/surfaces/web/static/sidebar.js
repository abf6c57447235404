// The conversations beside the chat: search, rename, delete, and the drawer on narrow screens.

import { ask, path } from "./asking.js";

const list = document.getElementById("conversations");
const empty = document.getElementById("no-conversations");
const more = document.getElementById("more-conversations");
const search = document.getElementById("find");
const sidebar = document.getElementById("sidebar");
const opener = document.getElementById("open-sidebar");
const veil = document.getElementById("veil");
const dialog = document.getElementById("delete-dialog");
const row = document.getElementById("conversation-row");
const PAUSE_MS = 150;

export class Sidebar {
  constructor({ current, say, left }) {
    this.current = current;
    this.say = say;
    this.left = left;
    this.asked = 0;
    this.isWhole = false;
    let timer = 0;
    search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.refresh(), PAUSE_MS);
    });
    list.addEventListener("click", (event) => {
      const item = event.target.closest("li");
      if (event.target.closest("[data-rename]")) this.rename(item);
      if (event.target.closest("[data-delete]")) this.remove(item);
    });
    more.addEventListener("click", () => {
      this.isWhole = true;
      this.refresh();
    });
    opener.addEventListener("click", () => this.toggle(!sidebar.classList.contains("open")));
    veil.addEventListener("click", () => this.toggle(false));
    for (const place of [sidebar, opener]) {
      place.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && sidebar.classList.contains("open")) this.toggle(false);
      });
    }
  }

  toggle(isOpen) {
    sidebar.classList.toggle("open", isOpen);
    veil.hidden = !isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) search.focus();
    else opener.focus();
  }

  /** Look again if what there is has changed since it was last shown. */
  follow(revision) {
    this.heard = String(revision);
    if (list.dataset.revision !== this.heard) this.refresh();
  }

  async refresh() {
    if (list.querySelector("input")) return; // Somebody is typing a name.
    const number = ++this.asked;
    const query = search.value.trim();
    const heard = this.heard ?? list.dataset.revision;
    const most = this.isWhole || query ? Infinity : Number(list.dataset.most);
    const limit = most < Infinity ? `&limit=${most + 1}` : "";
    try {
      const { conversations } = await ask("GET", `/api/conversations?query=${encodeURIComponent(query)}${limit}`);
      if (number !== this.asked || list.querySelector("input")) return;
      this.show(conversations.slice(0, most), query, conversations.length > most);
      list.dataset.revision = heard;
    } catch (error) {
      this.say(error.words ?? String(error));
    }
  }

  show(conversations, query, isMore) {
    const focused = document.activeElement?.closest?.("#conversations li");
    const at = [...list.children].indexOf(focused);
    const part = ["[data-rename]", "[data-delete]"].find((one) => document.activeElement?.matches(one)) ?? "a";
    const before = list.children.length;
    const isLeft = document.activeElement === more && !isMore;
    list.replaceChildren(...conversations.map((one) => this.make(one)));
    more.hidden = !isMore;
    if (isLeft) (list.children[before]?.querySelector("a") ?? search).focus();
    if (focused) {
      const same = [...list.children].find((item) => item.dataset.id === focused.dataset.id);
      const near = list.children[Math.min(at, list.children.length - 1)]; // What had the focus is gone.
      (same?.querySelector(part) ?? near?.querySelector("a") ?? search).focus();
    }
    empty.hidden = conversations.length > 0;
    empty.textContent = query ? "No conversation fits." : "No conversations yet.";
  }

  make({ id, title, busy }) {
    const item = row.content.firstElementChild.cloneNode(true);
    const link = item.querySelector("a");
    const name = title || "Without a title";
    item.dataset.id = id;
    link.href = `/chat/${encodeURIComponent(id)}`;
    link.querySelector(".name").textContent = name;
    item.querySelector("[data-rename]").setAttribute("aria-label", `Rename ${name}`);
    item.querySelector("[data-delete]").setAttribute("aria-label", `Delete ${name}`);
    if (!busy) link.querySelector(".busy").remove();
    if (id === this.current()) {
      item.classList.add("current");
      link.setAttribute("aria-current", "page");
    }
    return item;
  }

  rename(item) {
    const link = item.querySelector("a");
    const field = document.createElement("input");
    field.className = "field";
    field.value = link.querySelector(".name").textContent;
    field.maxLength = 200;
    field.setAttribute("aria-label", "New name");
    link.hidden = true;
    link.before(field);
    field.select();
    let isOver = false;
    const end = async (isKept) => {
      if (isOver) return;
      isOver = true;
      const title = field.value.trim();
      field.remove();
      link.hidden = false;
      link.focus();
      try {
        if (isKept && title) await ask("PATCH", path("conversations", item.dataset.id), { title });
      } catch (error) {
        this.say(error.words ?? String(error));
      }
      await this.refresh(); // What was heard of meanwhile was not shown.
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) end(true);
      if (event.key === "Escape") {
        event.stopPropagation();
        end(false);
      }
    });
    field.addEventListener("blur", () => end(true));
  }

  remove(item) {
    document.getElementById("delete-name").textContent = item.querySelector(".name").textContent;
    dialog.returnValue = "no";
    dialog.addEventListener(
      "close",
      async () => {
        if (!item.isConnected) this.point(item.dataset.id);
        if (dialog.returnValue !== "yes") return;
        try {
          await ask("DELETE", path("conversations", item.dataset.id));
          if (item.dataset.id === this.current()) this.left();
          else await this.refresh();
        } catch (error) {
          this.say(error.words ?? String(error));
        }
      },
      { once: true },
    );
    dialog.showModal();
  }

  /** Give the focus back to a row that was made anew while the dialog had it. */
  point(id) {
    const row = [...list.children].find((one) => one.dataset.id === id);
    (row?.querySelector("[data-delete]") ?? search).focus();
  }
}
