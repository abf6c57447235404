// What is typed and not sent yet. The browser's tab keeps it, so that it outlives a reload and a look at another page.

const key = (conversation) => `prowess-draft:${conversation || ""}`;

/** Keep what is in a field as the draft of a conversation; of a new one where there is none. */
export function keepDraft(field, conversation) {
  try {
    if (field.value) sessionStorage.setItem(key(conversation), field.value);
    else sessionStorage.removeItem(key(conversation));
  } catch {
    // A browser that keeps nothing, or is full, has no drafts.
  }
}

/** Put the draft of a conversation into a field that is empty. */
export function restoreDraft(field, conversation) {
  try {
    field.value ||= sessionStorage.getItem(key(conversation)) ?? "";
  } catch {
    // As above.
  }
}
