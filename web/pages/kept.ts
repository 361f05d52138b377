// What the pages keep in the browser between one page and the next.
//
// The session's tokens are in sessionStorage: in this tab only. Browsers bring them back with a tab that is reopened, so only signing out ends a session at
// once. A script that somebody smuggles into a page of this origin could read them; `docs/deployment.md` of the login server says what it could do besides, with
// a cookie as well.

import { LoginClient, type SavedSession, type Session } from "../dist/index.js";

const SESSION = "candor-login session";
/** Before the name of an account, in localStorage: the proof that this device has been there before. It opens nothing by itself. */
const DEVICE = "candor-login device ";

/** The client of the server that the page came from. */
export const client = connect();

/** Keeps a session for the next page. What a browser does not keep costs another login, and no account. */
export function keep(session: Session): void {
  store(sessionStorage, SESSION, JSON.stringify(session.save()));
}

/**
 * Keeps a new session in place of the one that the tab had, which ends: nobody would be left to sign it out. Where the server has ended it before, or does not
 * hear of it, the new one stands all the same.
 */
export async function replace(session: Session): Promise<void> {
  const old = read();
  keep(session);
  if (old !== null && old.id !== session.id) await client.resume(old).logout().catch(() => undefined);
}

/** Forgets the session, whether the server has ended it or not. */
export function forget(): void {
  sessionStorage.removeItem(SESSION);
}

/** The session that was kept, with an access token that is good for another minute at least; `null` if there is none. */
export async function kept(): Promise<Session | null> {
  const saved = read();
  if (saved === null) return null;
  const session = client.resume(saved);
  await fresh(session);
  return session;
}

/** Refreshes a session whose access token is about to expire. */
export async function fresh(session: Session): Promise<void> {
  if (session.accessUntil.getTime() - Date.now() <= 60_000) await renew(session);
}

/**
 * Refreshes a session. The old tokens are worth nothing as soon as the server has heard of it, so a link that is clicked meanwhile is followed when the new ones
 * are kept.
 */
export async function renew(session: Session): Promise<void> {
  let next: string | undefined;
  const hold = (event: MouseEvent): void => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null) return;
    event.preventDefault();
    next = link.href;
  };
  document.addEventListener("click", hold, { capture: true });
  try {
    await session.refresh();
    keep(session);
  } finally {
    document.removeEventListener("click", hold, { capture: true });
    if (next !== undefined) location.assign(next);
  }
}

/** What this device has proved itself with at that account, if it was to be remembered. */
export function deviceOf(name: string): string | undefined {
  return localStorage.getItem(DEVICE + form(name)) ?? undefined;
}

/** Keeps what a session has brought for this device. */
export function rememberDevice(name: string, session: Session): void {
  if (session.device !== null) store(localStorage, DEVICE + form(name), session.device);
}

/** What this device is called in the list of sessions: the browser and the system, as far as they say. */
export function label(): string {
  const agent = navigator.userAgent;
  // Browsers name those that they resemble as well: the most particular name comes first.
  const browsers = [["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]] as const;
  const systems = [["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Windows", "Windows"], ["Mac OS", "macOS"], ["Linux", "Linux"]] as const;
  const first = (of: readonly (readonly [string, string])[]): string | undefined => of.find(([mark]) => agent.includes(mark))?.[1];
  return `${first(browsers) ?? "A browser"} on ${first(systems) ?? "an unknown system"}`;
}

/** A page that was not sent over TLS has no server to talk to: passwords would be registered in the clear. */
function connect(): LoginClient {
  try {
    return new LoginClient();
  } catch (error) {
    const notice = document.createElement("p");
    notice.className = "notice";
    notice.setAttribute("role", "alert");
    notice.textContent = "This page works only over https://. Ask whoever runs this server.";
    document.querySelector("h1")?.after(notice);
    document.getElementById("form")?.setAttribute("hidden", "");
    throw error;
  }
}

function store(where: Storage, key: string, value: string): void {
  try {
    where.setItem(key, value);
  } catch (error) {
    console.warn(error);
  }
}

function read(): SavedSession | null {
  try {
    return JSON.parse(sessionStorage.getItem(SESSION) ?? "null") as SavedSession | null;
  } catch {
    return null;
  }
}

/** The server tells names apart by less than how they are written. */
function form(name: string): string {
  return name.normalize("NFC").toLowerCase();
}
