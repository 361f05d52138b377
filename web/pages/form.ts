// What all forms have in common: what may be wrong with a field, the progress of the work, and how it is cancelled.

import { LoginError, type LoginOptions } from "../dist/index.js";

/** The least characters of a new password (NIST SP 800-63B-4, section 3.1.1.2, for a password that is all there is). */
const LEAST = 15;

/** What is wrong with a field, or with the whole if there is none. */
export class Wrong {
  constructor(
    readonly message: string,
    readonly field?: string,
  ) {}
}

/** An element that the page has. */
export function element<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found as E;
}

/** A field's element. */
export function input(id: string): HTMLInputElement {
  return element<HTMLInputElement>(id);
}

/** The text of a name or a code, without what a paste may have around it. */
export function text(id: string): string {
  return input(id).value.trim();
}

/** What the user has typed as a password, as it is: nothing is cut off. */
export function password(id: string): string {
  return input(id).value;
}

/** Empties what nobody else at this screen may read: passwords and codes. */
function empty(...more: string[]): void {
  for (const field of document.querySelectorAll<HTMLInputElement>([".secret input", ...more].join())) field.value = "";
}

// The browser's Back button may bring a page back as it was left, with its session and what it shows. It brings back nothing, and starts anew.
addEventListener("pagehide", () => {
  empty("input.code");
  document.getElementById("code-list")?.replaceChildren();
  const copy = document.getElementById("copy");
  if (copy !== null) copy.onclick = null;
});
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

/**
 * Takes the page's form. At each submission `work` is run, with what reports its progress and cancels it. What it throws is said, in the field that it is
 * about.
 */
export function submits(what: string, work: (options: Pick<LoginOptions, "onProgress" | "signal">) => Promise<void>): void {
  const form = element<HTMLFormElement>("form");
  const [submit, cancel] = [element<HTMLButtonElement>("submit"), element<HTMLButtonElement>("cancel")];
  let running: AbortController | null = null;

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running === null) void run();
  });
  cancel.addEventListener("click", () => running?.abort(new Wrong("Cancelled.")));
  for (const field of form.querySelectorAll("input")) field.addEventListener("input", () => clear(field));
  shows(form);

  async function run(): Promise<void> {
    for (const field of form.querySelectorAll("input")) clear(field);
    element("problem").textContent = "";
    const bar = element<HTMLProgressElement>("progress");
    running = new AbortController();
    try {
      check(form);
      conceal(form);
      begin(bar);
      await work({
        signal: running.signal,
        onProgress: (fraction) => {
          bar.value = fraction;
          // What the server has been sent can't be called back.
          cancel.disabled = fraction >= 1;
        },
      });
      empty();
    } catch (error) {
      end();
      say(error);
    } finally {
      running = null;
      end();
    }
  }

  function begin(bar: HTMLProgressElement): void {
    form.setAttribute("aria-busy", "true");
    submit.setAttribute("aria-disabled", "true");
    bar.removeAttribute("value");
    cancel.disabled = false;
    element("work").hidden = false;
    element("status").textContent = `${what} …`;
  }

  function end(): void {
    form.removeAttribute("aria-busy");
    submit.removeAttribute("aria-disabled");
    // Its button may have the focus.
    if (document.activeElement === cancel) submit.focus();
    element("work").hidden = true;
    element("status").textContent = "";
  }
}

/** Says what was wrong, where it was. */
export function say(error: unknown): void {
  const wrong = explained(error);
  const field = wrong.field === undefined ? null : document.getElementById(wrong.field);
  if (field === null) {
    element("problem").textContent = wrong.message;
    return;
  }
  field.setAttribute("aria-invalid", "true");
  element(`${field.id}-error`).textContent = wrong.message;
  field.focus();
}

/** What an error means for whoever reads it. What belongs to a field fits into one line of a phone. */
export function explained(error: unknown): Wrong {
  if (error instanceof Wrong) return error;
  if (!(error instanceof LoginError)) {
    console.error(error);
    return new Wrong("Something went wrong on this page. Reload it and try again.");
  }
  switch (error.type) {
    case "login-failed":
      // A code is used together with the name, and nothing is said about which of them is wrong.
      return document.getElementById("code") === null
        ? new Wrong("Wrong name or password.", "password")
        : new Wrong("Wrong name, or no unused code.", "code");
    case "throttled":
      return new Wrong(`Too many attempts. ${when(error.retryAfter)}`);
    case "busy":
    case "unavailable":
      return new Wrong(`The server is busy. ${when(error.retryAfter)}`);
    case "name-taken":
      return new Wrong("This name is taken.", "name");
    case "registration-token":
      return new Wrong("Unknown, used or expired.", "token");
    case "recovery-code":
      return new Wrong("Check it for typing mistakes.", "code");
    case "password":
      return new Wrong(sentence(error.message), document.getElementById("new-password") === null ? "password" : "new-password");
    case "malformed":
      // Its detail says of which field.
      return /\bname\b/.test(error.message)
        ? new Wrong("This name can't be used.", "name")
        : new Wrong("The server does not understand this page. Reload it and try again.");
    case "record-changed":
    case "state-expired":
    case "state-used":
    case "state-invalid":
      return new Wrong("It took too long, or something changed meanwhile. Try again.");
    case "no-session":
    case "refresh-reused":
      return new Wrong("Your session has ended. Sign in again.");
    case "network":
    case "timeout":
      return new Wrong(`No answer from the server. ${error.uncertain ? lost(error) : "Check your connection and try again."}`);
    case "memory":
      return new Wrong("This device has too little free memory. Close other tabs or programs and try again.");
    default:
      return new Wrong(sentence(error.message));
  }
}

/** What to do if nobody knows whether it succeeded. */
function lost(error: LoginError): string {
  const codes = error.recoveryCodes.length === 0 ? "" : " If it succeeded, make new recovery codes.";
  return `It may have succeeded all the same: try to sign in with the password that you have just typed.${codes}`;
}

/** Shows recovery codes in place of the form: once. The page then has this title. */
export function showCodes(codes: readonly string[], title?: string): void {
  if (title !== undefined) {
    element("title").textContent = title;
    document.title = title;
  }
  const list = element("code-list");
  list.replaceChildren(
    ...codes.map((code) => {
      const item = document.createElement("li");
      item.appendChild(document.createElement("code")).textContent = code;
      return item;
    }),
  );
  element("form").hidden = true;
  // First the codes, then the way on.
  document.querySelector("nav")?.setAttribute("hidden", "");
  element("codes").hidden = false;
  element("codes-title").focus();
  element("copy").onclick = () => {
    navigator.clipboard.writeText(codes.join("\n")).then(
      () => (element("copied").textContent = "Copied. Don't leave them in the clipboard."),
      () => (element("copied").textContent = "The browser does not permit it. Select the codes and copy them."),
    );
  };
}

/** Whether a new password can be taken. What it is worth nobody can tell but its owner. */
export function checkNew(id: string, name: string): void {
  const value = password(id);
  const length = [...value].length;
  if (length < LEAST) throw new Wrong(`${length} of at least ${LEAST} characters.`, id);
  if (value.toLowerCase() === name.toLowerCase()) throw new Wrong("A name is no password.", id);
}

/** What must be there and is not. */
function check(form: HTMLFormElement): void {
  for (const field of form.querySelectorAll("input")) {
    if (field.required && field.value === "") {
      const label = field.labels?.[0]?.textContent ?? "";
      throw new Wrong(`${label} is missing.`, field.id);
    }
  }
}

function clear(field: HTMLInputElement): void {
  field.removeAttribute("aria-invalid");
  const error = document.getElementById(`${field.id}-error`);
  if (error !== null) error.textContent = "";
}

/** Lets each password be looked at. */
function shows(form: HTMLFormElement): void {
  for (const button of form.querySelectorAll<HTMLButtonElement>(".show")) {
    const field = input(button.getAttribute("aria-controls") ?? "");
    button.addEventListener("click", () => show(button, field.type === "password"));
  }
}

/** Hides all passwords: a browser keeps for later what it sees in fields of text that are submitted. */
function conceal(form: HTMLFormElement): void {
  for (const button of form.querySelectorAll<HTMLButtonElement>(".show")) show(button, false);
}

function show(button: HTMLButtonElement, shown: boolean): void {
  input(button.getAttribute("aria-controls") ?? "").type = shown ? "text" : "password";
  button.setAttribute("aria-pressed", String(shown));
}

/** When to try again. */
function when(seconds: number | undefined): string {
  if (seconds === undefined) return "Try again later.";
  const [now, then] = [new Date(), new Date(Date.now() + seconds * 1000)];
  const today = then.toDateString() === now.toDateString();
  const time = today ? then.toLocaleTimeString() : then.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const [count, unit] = seconds < 120 ? [seconds, "second"] : [Math.ceil(seconds / 60), "minute"];
  return `Try again in ${count} ${unit}${count === 1 ? "" : "s"}, at ${time}.`;
}

function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1) + (/[.!?]$/.test(message) ? "" : ".");
}
