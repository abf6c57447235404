// Buttons that copy a text, or show it as it is written.

function findText(button) {
  const place = button.closest("[data-copyable]");
  const source = place?.querySelector(":scope > [data-source], :scope > * > [data-source]") ?? place?.querySelector("pre");
  return source?.textContent ?? "";
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without a secure address there is no clipboard but this one.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "sr-only";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function toggleRaw(button) {
  const body = button.closest("[data-copyable]");
  const isRaw = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(isRaw));
  body.querySelector(".rendered").hidden = isRaw;
  body.querySelector(".raw").hidden = !isRaw;
}

document.addEventListener("click", async (event) => {
  const raw = event.target.closest?.("[data-raw]");
  if (raw) return toggleRaw(raw);
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const words = button.dataset.words ?? button.textContent;
  button.dataset.words = words;
  const done = await copy(findText(button));
  button.textContent = done ? "Copied" : "Copying failed";
  button.classList.toggle("copied", done);
  setTimeout(() => {
    button.textContent = words;
    button.classList.remove("copied");
  }, 1600);
});
