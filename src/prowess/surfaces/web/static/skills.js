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

/** Fetch the table anew; an answer that a later one has overtaken is dropped. */
async function refresh(address = location.href) {
  const number = ++latest;
  const url = new URL(address, location.href);
  url.searchParams.set("fragment", "table");
  try {
    const answer = await fetch(url);
    const html = answer.ok ? await answer.text() : null;
    if (html === null || number !== latest) return;
    const open = new Set([...table.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
    table.innerHTML = html;
    for (const one of table.querySelectorAll("details > summary")) {
      if (open.has(one.textContent)) one.parentElement.open = true;
    }
  } catch {
    say("The server cannot be reached.");
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
  const stream = new Stream({ changed: () => refresh() }, (words) => {
    if (words || isBroken) say(words);
    isBroken = Boolean(words);
  });
  stream.follow(() => "/api/changes");
}
