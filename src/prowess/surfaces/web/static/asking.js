// Requests to the server. An error has what the server said: code, message, hint.

export class Refusal extends Error {
  constructor(status, code, message, hint) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }

  /** What to tell a person. */
  get words() {
    return this.hint ? `${this.message}: ${this.hint}` : this.message;
  }
}

export async function ask(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch {
    throw new Refusal(0, "unreachable", "the server cannot be reached", "is `prowess serve` still running?");
  }
  const text = await response.text();
  let said = {};
  try {
    said = text ? JSON.parse(text) : {};
  } catch {
    // No JSON: the status says enough.
  }
  if (response.ok) return said;
  const error = said.error ?? {};
  throw new Refusal(
    response.status,
    error.code ?? "failed",
    error.message ?? `the server answered ${response.status}`,
    error.hint ?? "",
  );
}

export const path = (...parts) => `/api/${parts.map(encodeURIComponent).join("/")}`;
