// The pages about skills: what changes something, searching as one types, and hearing of changes.

import { ask } from "./asking.js";
import "./copying.js";
import { Stream } from "./stream.js";

const table = document.getElementById("skill-table");
const form = document.getElementById("skill-search");
const failed = document.getElementById("call-failed");

const say = (text) => {
  if (!failed) return;
  failed.textContent = text;
  failed.hidden = !text;
};

/** Ask the server to do something; return whether it was done. */
const call = async (what, body) => {
  const [method, url] = what.split(" ");
  try {
    await ask(method, url, body ? JSON.parse(body) : undefined);
    return true;
  } catch (error) {
    say(error.words ?? String(error));
    return false;
  }
};

const goOn = (then) => {
  if (then === "refresh" && table) return refresh();
  if (then?.startsWith("/") && !then.startsWith("//")) return location.assign(then);
  return location.reload();
};

const act = async (element) => {
  const { call: what, body, confirm: question, then } = element.dataset;
  if (question && !window.confirm(question)) return;
  say("");
  element.disabled = true;
  const done = await call(what, body);
  element.disabled = false;
  if (done) return goOn(then);
  for (const one of element.type === "radio" ? document.getElementsByName(element.name) : []) one.checked = one.defaultChecked;
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-call]");
  if (button) act(button);
});
document.addEventListener("change", (event) => {
  if (event.target.matches("input[data-call]")) act(event.target);
});

// The list

let latest = 0;

/** What stays the same about a link, a button or the like when the table is made anew. */
const keyOf = (one) =>
  one.id || one.getAttribute("href") || one.dataset.call || one.getAttribute("aria-label") || one.textContent;
const allLike = (key) =>
  [...table.querySelectorAll("a, button, summary, [tabindex]")].filter((one) => keyOf(one) === key);

/** Put another table in place; what was open stays open, and what had the focus has it. */
function replaceTable(html) {
  const open = new Set([...table.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
  const focused = table.contains(document.activeElement) ? document.activeElement : null;
  const key = focused && keyOf(focused);
  const number = focused ? allLike(key).indexOf(focused) : -1;
  table.innerHTML = html;
  for (const one of table.querySelectorAll("details > summary")) {
    if (open.has(one.textContent)) one.parentElement.open = true;
  }
  if (!focused) return;
  const alike = allLike(key);
  (alike[number] ?? alike[0])?.focus({ preventScroll: true });
}

/** Fetch the table anew; an answer that a later one has overtaken is dropped. Return whether it is shown. */
async function refresh(address = location.href) {
  const number = ++latest;
  const url = new URL(address, location.href);
  url.searchParams.set("fragment", "table");
  try {
    const answer = await fetch(url);
    const html = answer.ok ? await answer.text() : null;
    if (html === null || number !== latest) return false;
    replaceTable(html);
    return true;
  } catch {
    say("The server cannot be reached.");
    return false;
  }
}

if (table && form) {
  let timer = 0;
  const search = () => {
    const said = [...new FormData(form)].filter(([, value]) => value);
    const address = said.length ? `/skills?${new URLSearchParams(said)}` : "/skills";
    history.replaceState(null, "", address);
    refresh(address);
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 150);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    search();
  });

  // The first that comes says how things are now: the table may be from before a break.
  let isBroken = false;
  let shown = "";
  const follow = async ({ catalog, decisions }) => {
    const now = `${catalog} ${decisions}`;
    if (now !== shown && (await refresh())) shown = now;
  };
  const stream = new Stream({ changed: follow }, (words) => {
    shown = "";
    if (words || isBroken) say(words);
    isBroken = Boolean(words);
  });
  stream.follow(() => "/api/changes");
}
