// The page of an account: its sessions and its recovery codes.

import { type Session, type SessionInfo } from "../dist/index.js";
import { element, explained, input, password, showCodes, submits } from "./form.js";
import { client, deviceOf, forget, fresh, kept, renew } from "./kept.js";

const time = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Back to the first page: there is no session any more. */
function leave(): void {
  forget();
  location.replace("./");
}

/** Does something with the session, and says what went wrong. */
async function attempt(session: Session, work: () => Promise<string>): Promise<void> {
  element("failed").textContent = "";
  element("said").textContent = "";
  try {
    await fresh(session);
    const said = await work();
    element("said").textContent = said;
  } catch (error) {
    if (ended(error)) return leave();
    element("failed").textContent = explained(error).message;
  }
}

function ended(error: unknown): boolean {
  const type = (error as { type?: string }).type;
  return type === "no-session" || type === "refresh-reused" || type === "scope";
}

async function showAll(session: Session): Promise<void> {
  const [sessions, left] = await Promise.all([session.sessions(), session.codesLeft()]);
  const mine = sessions.find((one) => one.current);
  element("who").textContent = mine?.name ?? "";
  input("name").value = mine?.name ?? "";
  element("sessions").replaceChildren(...sessions.map((one) => shown(session, one)));
  element("end-others").hidden = sessions.length < 2;
  element("left").textContent = left === 0 ? "You have none. Make some now: without one, a forgotten password is lost." : `You have ${left} left.`;
}

function shown(session: Session, one: SessionInfo): HTMLLIElement {
  const item = document.createElement("li");
  const what = item.appendChild(document.createElement("div"));
  what.className = "what";
  const label = one.label === "" ? "A device without a name" : one.label;
  what.appendChild(document.createElement("strong")).textContent = label;
  const times = what.appendChild(document.createElement("p"));
  times.className = "hint";
  times.textContent = `${one.current ? "This session" : `Last used ${time.format(one.used)}`}, since ${time.format(one.created)}`;
  if (!one.current) {
    const button = item.appendChild(document.createElement("button"));
    button.type = "button";
    button.className = "plain";
    button.textContent = "End";
    button.setAttribute("aria-label", `End the session: ${label}, since ${time.format(one.created)}`);
    button.addEventListener("click", () => {
      void attempt(session, async () => {
        await session.end(one.id);
        await showAll(session);
        // The button is gone.
        element("sessions-title").focus();
        return "The session has ended.";
      });
    });
  }
  return item;
}

/** Ends the session at the server, and leaves. If the server does not hear of it, the session is kept, so that it can be tried again. */
async function signOut(): Promise<void> {
  element("failed").textContent = "";
  element("said").textContent = "";
  try {
    const session = await kept();
    if (session === null) return leave();
    // If this device's clock is wrong, the access token may have expired all the same.
    await session.logout().catch(async (error: unknown) => {
      if (!ended(error)) throw error;
      await renew(session);
      await session.logout();
    });
  } catch (error) {
    if (!ended(error)) {
      element("failed").textContent = `You are still signed in. ${explained(error).message}`;
      return;
    }
  }
  leave();
}

/** What can be done with the session. */
function offer(session: Session): void {
  element("end-others").addEventListener("click", () => {
    void attempt(session, async () => {
      await session.endOthers();
      await showAll(session);
      element("sessions-title").focus();
      return "All other sessions have ended.";
    });
  });
  submits("Making new codes", async (progress) => {
    const name = input("name").value;
    const device = deviceOf(name);
    const codes = await client.makeRecoveryCodes(name, password("password"), { ...progress, ...(device === undefined ? {} : { device }) });
    element("left").textContent = `You have ${codes.length} left.`;
    input("password").value = "";
    showCodes(codes);
  });
}

async function start(): Promise<void> {
  element("sign-out").addEventListener("click", () => void signOut());
  const session = await kept();
  if (session === null) return leave();
  offer(session);
  // If this device's clock is wrong, the access token may have expired all the same.
  await showAll(session).catch(async (error: unknown) => {
    if (!ended(error)) throw error;
    await renew(session);
    await showAll(session);
  });
}

await start().catch((error: unknown) => {
  if (ended(error)) return leave();
  element("failed").textContent = explained(error).message;
});
