// Puts patches of blocks on the page. What is the same stays: what is open, what is selected, what has the focus.

const root = document.getElementById("blocks");
const scroll = document.getElementById("scroll");
const jump = document.getElementById("jump");
const NEAR = 60;
let sticks = true;

const find = (id) => document.getElementById(`b-${id}`);

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

/** Make one node like another, with as little change as can be. */
function morph(old, made) {
  if (old.isEqualNode(made)) return;
  if (old.nodeType !== made.nodeType || old.nodeName !== made.nodeName) {
    old.replaceWith(made);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== made.nodeValue) old.nodeValue = made.nodeValue;
    return;
  }
  if (old.dataset.children !== undefined) return; // Blocks within have patches of their own.
  const kept = new Set(old.nodeName === "DETAILS" ? ["open"] : []);
  for (const { name } of [...old.attributes]) if (!kept.has(name) && !made.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of made.attributes) {
    if (!kept.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const before = [...old.childNodes];
  const after = [...made.childNodes];
  after.forEach((node, index) => (index < before.length ? morph(before[index], node) : old.append(node)));
  before.slice(after.length).forEach((node) => node.remove());
}

/** Take over from a block what belongs to whoever looks at it, where it cannot stay as it is. */
function carryOver(old, made) {
  const open = new Map([...old.querySelectorAll("details[data-key]")].map((one) => [one.dataset.key, one.open]));
  for (const one of made.querySelectorAll("details[data-key]")) {
    if (open.has(one.dataset.key)) one.open = open.get(one.dataset.key);
  }
  for (const place of old.querySelectorAll("[data-children]")) {
    const to = [...made.querySelectorAll("[data-children]")].find((one) => one.dataset.children === place.dataset.children);
    to?.replaceWith(place);
  }
}

const shape = (block) => `${block.nodeName} ${block.dataset.state ?? ""} ${block.hasAttribute("data-partial")}`;

function replace(old, made) {
  const bottoms = [...old.querySelectorAll("[data-stick]")].filter(
    (one) => one.scrollHeight - one.scrollTop - one.clientHeight < NEAR,
  );
  if (shape(old) === shape(made)) {
    morph(old, made);
  } else {
    const hadFocus = old.contains(document.activeElement);
    carryOver(old, made);
    old.replaceWith(made);
    if (hadFocus && made.tabIndex === -1) made.focus({ preventScroll: true });
  }
  for (const one of bottoms) one.scrollTop = one.scrollHeight;
}

const findPlace = (parent) => (parent ? document.querySelector(`[data-children="${CSS.escape(parent)}"]`) : root);

/** Have the blocks of a place stand in the order of the patches; where they do already, nothing is moved. */
function sort(parent, patches) {
  const place = findPlace(parent);
  const wanted = patches.filter((patch) => patch.parent === parent && patch.html !== null).map(({ id }) => find(id));
  if (place && [...place.children].some((block, index) => block !== wanted[index])) place.append(...wanted.filter(Boolean));
}

function add(made, parent) {
  const place = findPlace(parent);
  if (!place) return;
  const last = place.lastElementChild;
  // An answer that is still growing stays behind what comes meanwhile.
  if (last?.hasAttribute("data-partial")) last.before(made);
  else place.append(made);
}

/** Show patches; return the questions that are new. */
export function applyPatches({ reset, patches }) {
  const wasAtEnd = isAtEnd();
  const read = findTallQuestion()?.id;
  const asked = [];
  const wanted = new Set(patches.map((patch) => patch.id));
  if (reset) {
    for (const block of [...root.querySelectorAll(".block[id]")]) if (!wanted.has(block.id.slice(2))) block.remove();
  }
  for (const { id, parent, html } of patches) {
    const old = find(id);
    if (html === null) {
      old?.remove();
      continue;
    }
    const made = parse(html);
    if (!made) continue;
    if (old) replace(old, made);
    else {
      add(made, parent);
      if (made.matches("form.consent")) asked.push(made);
      for (const one of made.querySelectorAll("[data-stick]")) one.scrollTop = one.scrollHeight;
    }
  }
  if (reset) for (const parent of new Set(patches.map((patch) => patch.parent))) sort(parent, patches);
  // Whoever reads a long question to its end is not led back to its start.
  if (wasAtEnd && (!read || findTallQuestion()?.id !== read)) sticks = true;
  settle();
  return asked;
}

export function clearBlocks() {
  root.replaceChildren();
  sticks = true;
}

const isAtEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR;

/** Return the question that waits, if it would begin above what is seen at the end. */
function findTallQuestion() {
  const waiting = [...root.querySelectorAll("form.consent:not([data-taken])")].at(-1);
  if (!waiting) return null;
  const start = waiting.getBoundingClientRect().top - scroll.getBoundingClientRect().top + scroll.scrollTop;
  return start < scroll.scrollHeight - scroll.clientHeight ? waiting : null;
}

/** Whoever looks at the end goes on to look at it; but a question is read from its start. */
function settle() {
  if (sticks) {
    const question = findTallQuestion();
    if (question) showStart(question);
    else scroll.scrollTop = scroll.scrollHeight;
  }
  showJump();
}

function showStart(question) {
  question.scrollIntoView({ block: "start" });
  sticks = false;
}

export function toEnd() {
  scroll.scrollTop = scroll.scrollHeight;
  sticks = true;
  showJump();
}

/** Look at the end from now on. */
export function follow() {
  sticks = true;
  settle();
}

/** Bring a question into view: all of it, or else its start. */
export function showQuestion(question) {
  if (question.offsetHeight > scroll.clientHeight) showStart(question);
  else question.scrollIntoView({ block: "nearest" });
  showJump();
}

/** The way to the end is shown where it is of use, and never over the answers to a question. */
function showJump() {
  jump.hidden = isAtEnd() || [...root.querySelectorAll(".consent-buttons")].some(isSeen);
}

function isSeen(part) {
  const [box, pane] = [part.getBoundingClientRect(), scroll.getBoundingClientRect()];
  return box.bottom > pane.top && box.top < pane.bottom;
}

scroll.addEventListener(
  "scroll",
  () => {
    sticks = isAtEnd() && !findTallQuestion();
    showJump();
  },
  { passive: true },
);
jump.addEventListener("click", () => {
  toEnd();
  document.getElementById("message").focus();
});
new ResizeObserver(settle).observe(root);
