// The choice of the model that answers: those that are known, or another whose name is typed.

const OTHER = "";

export class ModelPicker {
  constructor({ done }) {
    this.select = document.getElementById("model");
    this.other = document.getElementById("other-model");
    this.note = document.getElementById("model-note");
    this.keys = document.getElementById("model-keys");
    this.isChanged = false;
    this.wasChanged = false; // Before another name was to be typed, which can be taken back.
    this.former = this.select.value;
    this.select.addEventListener("change", () => this.choose());
    this.other.addEventListener("input", () => this.tell());
    this.other.addEventListener("keydown", (event) => {
      if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault();
      if (event.key === "Enter" && this.other.value.trim()) return done();
      this.select.value = this.former;
      this.choose();
      this.isChanged = this.wasChanged;
      this.tell();
      this.select.focus();
    });
    this.tell();
  }

  /** The name of the model; empty while none is typed. */
  get chosen() {
    return this.select.value || this.other.value.trim();
  }

  choose() {
    const isOther = this.select.value === OTHER;
    if (isOther) this.wasChanged = this.isChanged;
    this.isChanged = true;
    this.other.hidden = !isOther;
    if (isOther) this.other.focus();
    else this.former = this.select.value;
    this.tell();
  }

  /** Show the model of the conversation, unless somebody is choosing another. */
  show(name) {
    if (!name || this.isChanged || document.activeElement === this.select) return;
    if (![...this.select.options].some((one) => one.value === name)) this.select.prepend(new Option(name, name));
    this.select.value = name;
    this.former = name;
    this.other.hidden = true;
    this.tell();
  }

  /** What was chosen is the model of the conversation from now on. */
  settle() {
    this.isChanged = false;
  }

  /** Say what there is to know of a model: that it calls no tools, what it lacks, or how to write another. */
  tell() {
    const isOther = this.select.value === OTHER;
    const { tools, note } = this.select.selectedOptions[0]?.dataset ?? {};
    const words = tools === "no"
      ? `${this.chosen} cannot call tools, so it uses skills only when you call one, as /name.`
      : tools === "yes" && !this.isChanged ? "" : (note ?? "");
    this.note.textContent = words;
    this.note.hidden = !words || isOther;
    this.keys.hidden = !isOther;
  }
}
