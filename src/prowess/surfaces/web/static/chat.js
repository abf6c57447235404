// The chat: says what is typed, shows what comes, and passes answers to questions on.

import { ask, path } from "./asking.js";
import { applyPatches, clearBlocks, follow as followEnd, showQuestion, toEnd } from "./blocks.js";
import { Completions } from "./completing.js";
import "./copying.js";
import { keepDraft, restoreDraft } from "./drafts.js";
import { ModelPicker } from "./picking.js";
import { Sidebar } from "./sidebar.js";
import { Stream } from "./stream.js";

const at = (id) => document.getElementById(id);
const chat = at("chat");
const field = at("message");
const status = at("status");
const model = new ModelPicker({ done: () => field.focus() });
let conversation = chat.dataset.conversation;
let isBusy = chat.dataset.busy === "true";
let isSending = false;
let sending; // The message that is on its way.
let isBroken = false;
let isGone = false; // It was deleted while it was looked at.
let active = [];

const say = (words) => {
  status.textContent = words;
};
const tell = (error) => say(error.words ?? String(error));
const WORKING = "Working …";
const WAITING = "Waiting for your answer …";
const TAKEN = "Your answer was taken.";

// What goes on

const sidebar = new Sidebar({ current: () => conversation, say, left: () => location.assign("/") });

const stream = new Stream(
  {
    blocks(patches) {
      const wasEmpty = !at("welcome").hidden;
      const asked = applyPatches(patches);
      const isEmpty = !at("blocks").childElementCount;
      at("welcome").hidden = !isEmpty;
      isGone = isEmpty && (isGone || !wasEmpty);
      if (isGone) say("This conversation was deleted elsewhere, or is not kept any more.");
      else if ([WORKING, WAITING].includes(status.textContent)) say(tellWork());
      else if (status.textContent === TAKEN && isAsking()) say(WAITING); // The next question.
      if (asked.length) point(asked.at(-1));
    },
    state: showState,
    changed({ conversations }) {
      sidebar.follow(conversations);
    },
  },
  (words) => {
    if (words || isBroken) say(words);
    isBroken = Boolean(words);
  },
);

const follow = (id, cursor) =>
  stream.follow((last) => `${path("conversations", id, "events")}?${new URLSearchParams({ form: "blocks", cursor: last })}`, cursor);

/** Lead to a question; whoever is typing is told of it instead. */
function point(form) {
  const heading = form.querySelector("h3");
  const focused = document.activeElement;
  if (focused?.matches("input, textarea") && focused.value.trim()) {
    say(`A question waits for you: ${heading.textContent.trim()}`);
    return;
  }
  heading.focus({ preventScroll: true });
  showQuestion(form);
}

function showState(state) {
  const wasBusy = isBusy;
  isBusy = state.busy;
  at("stop").hidden = !isBusy;
  at("send").hidden = isBusy;
  if (wasBusy !== isBusy && !isBroken && !isGone) say(isBusy ? tellWork() : tellOutcome());
  const title = state.title || "New conversation";
  at("title").textContent = title;
  document.title = `${title} · Prowess`;
  model.show(state.model);
  showActive(state.active ?? []);
}

const isAsking = () => Boolean(document.querySelector("#blocks form.consent:not([data-taken])"));
const tellWork = () => (isAsking() ? WAITING : WORKING);

function tellOutcome() {
  const end = [...document.querySelectorAll("#blocks > .end")].at(-1);
  return `${end?.querySelector(".outcome")?.textContent.trim() ?? "Done"}.`;
}

function showActive(skills) {
  active = skills;
  const rows = skills.map((one) => {
    const row = at("chip-row").content.firstElementChild.cloneNode(true);
    row.firstElementChild.dataset.key = one.key;
    row.querySelector("span").textContent = one.name;
    return row;
  });
  at("chips").replaceChildren(...rows);
}

// Saying something

function fit() {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

const composer = document.querySelector(".composer-wrap");
new ResizeObserver(() => chat.style.setProperty("--composer", `${composer.offsetHeight}px`)).observe(composer);

/** Return the id of the conversation; a new one has it from the moment on that anything needs it. */
let reserved;
async function reserve() {
  if (conversation) return conversation;
  reserved ??= ask("POST", "/api/conversations", {});
  try {
    return (await reserved).id;
  } catch (error) {
    reserved = undefined;
    throw error;
  }
}

async function begin() {
  const id = await reserve();
  conversation = id;
  chat.dataset.conversation = id;
  keepDraft({ value: "" }, ""); // It is that of this conversation from now on.
  keepDraft(field, id);
  history.pushState({ conversation: id }, "", `/chat/${encodeURIComponent(id)}`);
  follow(id, "");
}

function send() {
  const text = field.value.trim();
  if (text && !isSending) sending = deliver(text, field.value);
}

/** Say a text; `typed` is what of the field becomes of it. */
async function deliver(text, typed) {
  if (isBusy) {
    say("An answer is under way; stop it first, or wait.");
    return;
  }
  const most = Number(field.dataset.most); // As a limit of the field itself, it would cut without a word.
  if (text.length > most) {
    say(`A message has at most ${most.toLocaleString("en")} characters; this one has ${text.length.toLocaleString("en")}.`);
    return;
  }
  isSending = true;
  completions.close();
  say("");
  try {
    if (!conversation) await begin();
    const wanted = model.chosen;
    await ask("POST", path("conversations", conversation, "messages"), wanted ? { text, model: wanted } : { text });
    if (field.value.startsWith(typed)) field.value = field.value.slice(typed.length).trimStart(); // More may be typed by now.
    keepDraft(field, conversation);
    completions.close();
    model.settle();
    fit();
    toEnd();
    sidebar.refresh();
  } catch (error) {
    tell(error);
  } finally {
    isSending = false;
  }
}

const completions = new Completions(field, at("completions"), { conversation: reserve, announce: say });

field.addEventListener("input", () => {
  fit();
  keepDraft(field, conversation);
});
field.addEventListener("keydown", (event) => {
  if (completions.take(event)) return;
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    send();
  }
});
// Who leaves while a message is on its way waits for it: a page that goes takes its requests along.
at("sidebar").addEventListener("click", async (event) => {
  const link = event.target.closest("a[href]");
  if (!link || !isSending || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  await sending;
  if (!field.value) location.assign(link.href);
});
at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
at("stop").addEventListener("click", async () => {
  say("Stopping …");
  try {
    await ask("POST", path("conversations", conversation, "cancel"), {});
    field.focus();
  } catch (error) {
    tell(error);
  }
});
at("blocks").addEventListener("click", (event) => {
  const end = event.target.closest("[data-again]")?.closest(".end");
  const asked = [...document.querySelectorAll("#blocks > .message .bubble")].at(-1);
  if (end && asked && !isSending) sending = deliver(asked.textContent.trim(), "");
});

// Questions

at("blocks").addEventListener("submit", (event) => event.preventDefault());
at("blocks").addEventListener("click", async (event) => {
  const button = event.target.closest("[data-answer]");
  const form = button?.closest("form.consent");
  if (!form) return;
  const buttons = [...form.querySelectorAll("[data-answer]")];
  const problem = form.querySelector(".consent-problem");
  for (const one of buttons) one.disabled = true;
  problem.hidden = true;
  try {
    await ask("POST", path("conversations", conversation, "questions", form.dataset.question), {
      answer: button.dataset.answer,
    });
    form.dataset.taken = "yes";
    say(isAsking() ? WAITING : TAKEN);
    if (!isAsking()) field.focus({ preventScroll: true });
    followEnd();
  } catch (error) {
    problem.textContent = error.code === "question-answered" ? "It was answered elsewhere meanwhile." : error.words;
    problem.hidden = false;
    for (const one of buttons) one.disabled = error.code === "question-answered";
  }
});

// Active skills

at("chips").addEventListener("click", (event) => {
  const key = event.target.closest("[data-key]")?.dataset.key;
  const skill = active.find((one) => one.key === key);
  if (!skill) return;
  const words = { model: "the model", user: "you", trigger: "a trigger" };
  at("skill-name").textContent = skill.name;
  at("skill-about").textContent = skill.description;
  at("skill-id").textContent = skill.id;
  at("skill-digest").textContent = (skill.digest || "none").slice(0, 16);
  at("skill-digest").title = skill.digest;
  at("skill-asked").textContent = words[skill.asked_by] ?? skill.asked_by;
  at("skill-link").href = `/skills/${encodeURIComponent(skill.key)}`;
  const dialog = at("skill-dialog");
  dialog.returnValue = "close";
  dialog.dataset.key = key;
  dialog.showModal();
});
at("skill-dialog").addEventListener("close", async () => {
  const dialog = at("skill-dialog");
  if (dialog.returnValue !== "deactivate") return;
  try {
    await ask("DELETE", path("conversations", conversation, "active", dialog.dataset.key));
    say(`${at("skill-name").textContent} is not active any more.`);
  } catch (error) {
    tell(error);
  }
});

// Beginning

addEventListener("popstate", () => location.reload());
restoreDraft(field, conversation);
fit();
toEnd();
if (conversation) {
  follow(conversation, chat.dataset.cursor);
  const waiting = [...document.querySelectorAll("form.consent")].at(-1);
  if (waiting) point(waiting);
} else {
  clearBlocks();
  stream.follow(() => "/api/changes");
}
