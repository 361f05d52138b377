// Sessions of an account.

import type { Fields } from "./answers.js";
import type { Connection } from "./connection.js";

/** What the server says about a session. */
export interface SessionInfo {
  /** Names the session. */
  id: string;
  /** The account's name, as its owner wrote it. */
  name: string;
  /** `full`, or `recovery` for one that can only set a new password. */
  scope: string;
  /** What its owner calls the device. */
  label: string;
  /** When it was opened. */
  created: Date;
  /** When it was last used, give or take a minute. */
  used: Date;
  /** When it ends. */
  ends: Date;
  /** Whether it is the one that asks. */
  current: boolean;
}

/** A session as it can be kept in `sessionStorage`. **Whoever reads it is logged in.** */
export interface SavedSession {
  id: string;
  token: string;
  refreshToken: string;
  accessUntil: number;
  ends: number;
}

/** What the server answers when it opens or refreshes a session. */
export interface SessionOpened {
  session: string;
  access_token: string;
  refresh_token: string;
  access_until: number;
  ends: number;
  device: string | null;
}

/** Reads that answer. */
export function sessionOpened(answer: Fields): SessionOpened {
  return {
    session: answer.text("session"),
    access_token: answer.text("access_token"),
    refresh_token: answer.text("refresh_token"),
    access_until: answer.time("access_until"),
    ends: answer.time("ends"),
    device: answer.optional("device"),
  };
}

/** An open session: what proves to the server, and to the application's own server, who is there. */
export class Session {
  readonly #connection: Connection;
  #opened: SessionOpened;
  #exportKey: Uint8Array | null;
  #refreshing: Promise<void> | null = null;

  /** What this device proves itself with next time (`LoginOptions.device`), if it was asked for. Keep it in `localStorage`. */
  readonly device: string | null;
  /** The recovery codes that were asked for, to be shown to the user now: there is no other time. */
  readonly recoveryCodes: string[];

  /** @internal */
  constructor(connection: Connection, opened: SessionOpened, exportKey: Uint8Array | null, recoveryCodes: string[]) {
    this.#connection = connection;
    this.#opened = opened;
    this.#exportKey = exportKey;
    this.device = opened.device;
    this.recoveryCodes = recoveryCodes;
  }

  /** @internal */
  static resume(connection: Connection, saved: SavedSession): Session {
    const { id, token, refreshToken, accessUntil, ends } = saved;
    const opened = { session: id, access_token: token, refresh_token: refreshToken, access_until: accessUntil, ends, device: null };
    return new Session(connection, opened, null, []);
  }

  /** Names the session. */
  get id(): string {
    return this.#opened.session;
  }

  /** The access token, for the application's own server, which asks the login server whose it is: `Authorization: Bearer TOKEN`. */
  get token(): string {
    return this.#opened.access_token;
  }

  /** When the access token expires. {@link refresh} it before. */
  get accessUntil(): Date {
    return new Date(this.#opened.access_until * 1000);
  }

  /** When the session ends, however often it is refreshed. */
  get ends(): Date {
    return new Date(this.#opened.ends * 1000);
  }

  /**
   * 64 bytes, the same at every login with this password, and known to nobody else: for data that the server stores and must not read. **They
   * change with the password.** `null` in a session that was resumed, and after {@link logout} or {@link wipe}.
   */
  get exportKey(): Uint8Array | null {
    return this.#exportKey;
  }

  /** What the server says about this session. */
  async info(): Promise<SessionInfo> {
    return this.#connection.get("/v1/session", shown, this.token);
  }

  /** All sessions of the account, the most recently used first. */
  async sessions(): Promise<SessionInfo[]> {
    return this.#connection.get("/v1/sessions", (answer) => answer.list("sessions").map(shown), this.token);
  }

  /** Ends another session of the account. */
  async end(id: string): Promise<void> {
    await this.#connection.delete(`/v1/sessions/${encodeURIComponent(id)}`, this.token);
  }

  /** Ends all other sessions of the account. */
  async endOthers(): Promise<void> {
    await this.#connection.delete("/v1/sessions", this.token);
  }

  /** Ends this session, and wipes its export key. */
  async logout(): Promise<void> {
    this.wipe();
    await this.#connection.delete("/v1/session", this.token);
  }

  /**
   * Gets new tokens. The old ones are worth nothing afterwards; if the answer is lost on the way, the user logs in again. Calls while one is under way share
   * it: a refresh token that is used twice ends the session.
   */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  /** How many recovery codes are left. */
  async codesLeft(): Promise<number> {
    return this.#connection.get("/v1/recovery/codes", (answer) => answer.count("left"), this.token);
  }

  /** The session's tokens, for `sessionStorage` and {@link LoginClient.resume}. The export key is not among them. */
  save(): SavedSession {
    const { session, access_token, refresh_token, access_until, ends } = this.#opened;
    return { id: session, token: access_token, refreshToken: refresh_token, accessUntil: access_until, ends };
  }

  /** Overwrites the export key. */
  wipe(): void {
    this.#exportKey?.fill(0);
    this.#exportKey = null;
  }

  async #refresh(): Promise<void> {
    const body = { refresh_token: this.#opened.refresh_token };
    this.#opened = await this.#connection.post("/v1/session/refresh", sessionOpened, body);
  }
}

function shown(answer: Fields): SessionInfo {
  const date = (name: string): Date => new Date(answer.time(name) * 1000);
  return {
    id: answer.text("session"),
    name: answer.text("name"),
    scope: answer.text("scope"),
    label: answer.text("label"),
    created: date("created"),
    used: date("used"),
    ends: date("ends"),
    current: answer.flag("current"),
  };
}
