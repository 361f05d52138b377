// The client of candor's login server: register, log in, change the password, recover.

import type { Fields } from "./answers.js";
import { toBase64url } from "./base64url.js";
import { DEFAULT_OLD_HASH_LIMITS, type OldHashLimits } from "./limits.js";
import { OpaqueClient, type OpaqueClientOptions, type Registration } from "./opaque.js";
import { Connection, LoginError, type Fetch, type LoginErrorType } from "./connection.js";
import { newRecoveryCode, recoveryCodeForServer } from "./recovery.js";
import { Session, sessionOpened, type SavedSession, type SessionInfo, type SessionOpened } from "./session.js";

export { LoginError, Session };
export type { Fetch, LoginErrorType, SavedSession, SessionInfo };

/** The context of every login, as the server has it. */
const CONTEXT = "candor-login-1";
/** The most recovery codes that the server keeps. */
const MOST_CODES = 16;

/** What a client may be told about its surroundings. */
export interface LoginClientOptions extends Omit<OpaqueClientOptions, "context" | "clientIdentity" | "serverIdentity"> {
  /** What to send requests with. Defaults to `globalThis.fetch`. */
  fetch?: Fetch;
  /** Milliseconds to wait for an answer. Defaults to 60,000: the server holds answers back when strangers guess at an account. */
  timeout?: number;
  /** Limits on the old password hashes that a server may ask for, before it has proved to be the right one. */
  oldHashLimits?: OldHashLimits;
}

/** What a request may say besides name and password. */
export interface LoginOptions {
  /** How far key stretching is, from 0 to 1. Called from the first block to the last; never after the promise has settled. */
  onProgress?: (fraction: number) => void;
  /**
   * Cancels: the worker is ended, its memory returned, and the promise rejects with the signal's reason. A request that changes something at the server, such as
   * the last one of a registration, can't be called back: once it is sent, its answer is waited for.
   */
  signal?: AbortSignal;
  /** What the user calls this device, for the list of sessions: at most 128 bytes. */
  label?: string;
  /** `Session.device` of an earlier login on this device. Such a login does not wait when strangers guess at the account. */
  device?: string;
  /** Asks for such a proof, if there is none. */
  remember?: boolean;
  /**
   * How many recovery codes to make, at most 16; they are in `Session.recoveryCodes`. With 0, which is the default, a new account has none, an
   * account that was recovered keeps its others, and one whose password was changed has none any more.
   */
  recoveryCodes?: number;
}

/** The options of {@link LoginClient.register}. */
export interface RegisterOptions extends LoginOptions {
  /** A registration token, if the server wants one. */
  token?: string;
}

/** The options of {@link LoginClient.makeRecoveryCodes}. */
export interface RecoveryCodeOptions extends Pick<LoginOptions, "onProgress" | "signal" | "device"> {
  /** How many, from 1 to 16. Defaults to 8. */
  count?: number;
}

/** What a server says about itself. */
export interface ServerConfig {
  /** The suite of OPAQUE. */
  suite: string;
  /** The context of every login. */
  context: string;
  /** Key stretching parameters of new registrations. */
  ksf: string;
  /** Who may register. */
  registration: "token" | "open" | "closed";
}

/** A password as text, or its UTF-8 bytes. Bytes can be overwritten afterwards; a string stays in memory as long as JavaScript likes. */
export type PasswordInput = string | Uint8Array;

/** A client of one login server. */
export class LoginClient {
  readonly #connection: Connection;
  readonly #opaque: OpaqueClient;
  readonly #oldHashLimits: OldHashLimits;
  /** Access tokens of recoveries that have begun, by {@link recoveryKey}: the server has used up their codes. */
  readonly #recoveries = new Map<string, string>();

  /**
   * A client of the server at `https://HOST[:PORT]`, or at `http://` and a loopback address. In a page `base` defaults to the page's origin. The server sends
   * no CORS headers: let the page and the login server have one origin.
   */
  constructor(base?: string | URL, options: LoginClientOptions = {}) {
    this.#connection = new Connection(base, options.fetch, options.timeout);
    this.#opaque = new OpaqueClient({ ...options, context: CONTEXT });
    this.#oldHashLimits = { ...DEFAULT_OLD_HASH_LIMITS, ...options.oldHashLimits };
  }

  /** What the server says about itself: for a page that shows or hides its registration form. */
  config(options: Pick<LoginOptions, "signal"> = {}): Promise<ServerConfig> {
    return this.#connection.get("/v1/config", serverConfig, undefined, options.signal);
  }

  /**
   * Makes an account, and opens a session.
   *
   * @throws LoginError `name-taken`, `registration-token`, `throttled`, `password`, …
   */
  async register(name: string, password: PasswordInput, options: RegisterOptions = {}): Promise<Session> {
    const token = options.token;
    const start = (request: string): Promise<RegisterStarted> =>
      this.#connection.post("/v1/register/start", registerStarted, { name, token, request }, undefined, options.signal);
    return this.#registering(password, options, start, { path: "/v1/register/finish", name, token });
  }

  /**
   * Opens a session.
   *
   * @throws LoginError `login-failed` for a wrong password or name: the server does not say which. `throttled`: wait `retryAfter` seconds.
   */
  async login(name: string, password: PasswordInput, options: LoginOptions = {}): Promise<Session> {
    const proved = await this.#prove(name, password, options);
    // The account was taken over from another system: it registers afresh on the way, so that the old hash is of no more use.
    if (proved.old) return this.#registerAgain(name, password, proved, part(options, 1));
    const body = {
      name,
      state: proved.state,
      ke3: toBase64url(proved.ke3),
      device: options.device,
      label: options.label ?? "",
      remember: options.remember ?? false,
    };
    const sent = this.#connection.post("/v1/login/finish", sessionOpened, body, undefined, options.signal);
    return this.#session(sent, proved.exportKey, []);
  }

  /**
   * Sets a new password. All sessions of the account end, and the one that is returned is opened. The old recovery codes are removed;
   * `options.recoveryCodes` asks for new ones. **The export key is another one from now on.**
   *
   * @throws LoginError `login-failed` if the old password is wrong; `throttled`; …
   */
  async changePassword(
    name: string,
    oldPassword: PasswordInput,
    newPassword: PasswordInput,
    options: LoginOptions = {},
  ): Promise<Session> {
    // Two stretchings, one after the other.
    const proved = await this.#prove(name, oldPassword, part(options, 0));
    return this.#registerAgain(name, newPassword, proved, part(options, 1));
  }

  /**
   * Sets a new password with a recovery code. All sessions of the account end, and the one that is returned is opened. **The export key is another one from now
   * on**; `recoveryWrappingKey` is for what was encrypted under the old one.
   *
   * The server uses the code up before the password is stretched. If the rest is cancelled or fails, call this again with the same code and this same client:
   * it goes on with what the code has opened ({@link recoveryPending}), within 15 minutes.
   *
   * @throws LoginError `recovery-code` for a mistyped code; `login-failed` if there is no such code or no such account; `throttled`; …
   */
  async recover(code: string, name: string, newPassword: PasswordInput, options: LoginOptions = {}): Promise<Session> {
    const told = toBase64url(await recoveryCodeForServer(code));
    const key = recoveryKey(told, name);
    const finish: Finish = { path: "/v1/recovery/finish" };
    // The code is used up only when it is certain that the new password can be used: its registration has begun.
    const start = async (request: string): Promise<RegisterStarted> => {
      const held = this.#recoveries.get(key);
      if (held !== undefined) {
        try {
          return await begin(held, request);
        } catch (error) {
          if (!(error instanceof LoginError && error.type === "no-session")) throw error;
          this.#recoveries.delete(key);
        }
      }
      // Not with the signal: what the code opens must not be lost.
      const opened = await this.#connection.post("/v1/recovery/session", accessToken, { name, code: told });
      this.#recoveries.set(key, opened);
      return begin(opened, request);
    };
    const begin = (access: string, request: string): Promise<RegisterStarted> => {
      finish.access = access;
      return this.#connection.post("/v1/recovery/start", registerStarted, { request }, access, options.signal);
    };
    const session = await this.#registering(newPassword, options, start, finish);
    this.#recoveries.delete(key);
    return session;
  }

  /**
   * Whether a recovery with this code was begun here and has not ended: the server has used the code up, and {@link recover} of this client goes on with it.
   *
   * @throws LoginError `recovery-code` for a mistyped code
   */
  async recoveryPending(code: string, name: string): Promise<boolean> {
    return this.#recoveries.has(recoveryKey(toBase64url(await recoveryCodeForServer(code)), name));
  }

  /**
   * Makes new recovery codes in place of the old ones, to be shown to the user now: there is no other time. It takes the password, so that whoever
   * has stolen a session can't plant a code.
   *
   * @throws LoginError `login-failed` if the password is wrong; `throttled`; …
   */
  async makeRecoveryCodes(name: string, password: PasswordInput, options: RecoveryCodeOptions = {}): Promise<string[]> {
    const codes = makeCodes(options.count ?? 8);
    const proved = await this.#prove(name, password, options);
    const body = { name, state: proved.state, ke3: toBase64url(proved.ke3), codes: await forServer(codes) };
    proved.exportKey.fill(0);
    options.signal?.throwIfAborted();
    try {
      // Not with the signal, as with every last request that codes depend on.
      await this.#connection.put("/v1/recovery/codes", (answer) => answer.count("left"), body);
    } catch (error) {
      throw LoginError.ofLast(error, codes);
    }
    return codes;
  }

  /** The session that {@link Session.save} has saved, without its export key: only a login has that. */
  resume(saved: SavedSession): Session {
    return Session.resume(this.#connection, saved);
  }

  /** Ends the workers that wait for work. The client can be used again; it starts others. */
  close(): void {
    this.#opaque.close();
  }

  /** Proves the password, without ending the login. */
  async #prove(name: string, password: PasswordInput, options: LoginOptions): Promise<Proved> {
    const first = await this.#proveWith(name, password, true, options);
    if (!("oldHash" in first)) return first;
    // What the server knows is the hash of the password as it was typed there. Nobody has proved yet to be the right server, so there are limits.
    const limits = this.#oldHashLimits;
    const old = await this.#opaque.oldHash(first.oldHash, password, { limits, signal: options.signal }).catch(explain);
    try {
      // A registration will follow.
      const second = await this.#proveWith(name, old, false, part(options, 0), first.state);
      return "oldHash" in second ? this.#connection.refuse("it asks for an old hash twice") : second;
    } finally {
      old.fill(0);
    }
  }

  /** Proves that we have this password, unless the server wants an old hash of it. */
  async #proveWith(
    name: string,
    password: PasswordInput,
    text: boolean,
    options: LoginOptions,
    state?: string,
  ): Promise<Proved | AskedForOldHash> {
    const login = await this.#opaque.startLogin(password, { signal: options.signal, text }).catch(explain);
    try {
      const body = { name, ke1: toBase64url(login.ke1), device: options.device, old_hash: state };
      const started = await this.#connection.post("/v1/login/start", loginStarted, body, undefined, options.signal);
      // The answer to the second request names the old hash again.
      if (started.oldHash !== null && state === undefined) return { oldHash: started.oldHash, state: started.state };
      const done = await login.finish(started.ke2, started.ksf, options).catch(explain);
      done.sessionKey.fill(0);
      return { state: started.state, ke3: done.ke3, exportKey: done.exportKey, old: state !== undefined };
    } finally {
      login.cancel();
    }
  }

  async #registerAgain(name: string, password: PasswordInput, proved: Proved, options: LoginOptions): Promise<Session> {
    proved.exportKey.fill(0);
    const start = (request: string): Promise<RegisterStarted> => {
      const body = { name, state: proved.state, ke3: toBase64url(proved.ke3), request };
      return this.#connection.post("/v1/password/start", registerStarted, body, undefined, options.signal);
    };
    return this.#registering(password, options, start, { path: "/v1/password/finish", name });
  }

  /** A registration, of whatever kind: `start` sends the request and `finish` says where the upload goes. */
  async #registering(
    password: PasswordInput,
    options: LoginOptions,
    start: (request: string) => Promise<RegisterStarted>,
    finish: Finish,
  ): Promise<Session> {
    const codes = makeCodes(options.recoveryCodes ?? 0);
    const registration = await this.#opaque.startRegistration(password, { signal: options.signal }).catch(explain);
    try {
      const started = await start(toBase64url(registration.request));
      return await this.#finishRegistration(registration, started, finish, codes, options);
    } finally {
      registration.cancel();
    }
  }

  async #finishRegistration(
    registration: Registration,
    started: RegisterStarted,
    finish: Finish,
    codes: string[],
    options: LoginOptions,
  ): Promise<Session> {
    const done = await registration.finish(started.response, started.ksf, options).catch(explain);
    const body = {
      name: finish.name,
      token: finish.token,
      state: started.state,
      upload: toBase64url(done.upload),
      recovery_codes: codes.length > 0 ? await forServer(codes) : undefined,
      label: options.label ?? "",
      remember: options.remember ?? false,
    };
    if (options.signal?.aborted) done.exportKey.fill(0);
    options.signal?.throwIfAborted();
    // Not with the signal: nobody could tell whether the server has done it.
    const sent = this.#connection.post(finish.path, sessionOpened, body, finish.access);
    return this.#session(sent, done.exportKey, codes);
  }

  /** The session that the last request of a login or registration opens. If it fails, the export key is of no use. */
  async #session(sent: Promise<SessionOpened>, exportKey: Uint8Array, codes: string[]): Promise<Session> {
    try {
      return new Session(this.#connection, await sent, exportKey, codes);
    } catch (error) {
      exportKey.fill(0);
      throw LoginError.ofLast(error, codes);
    }
  }
}

/** A login that only the server has not ended yet. */
interface Proved {
  state: string;
  ke3: Uint8Array;
  exportKey: Uint8Array;
  /** By the old hash of the password and not by the password itself. */
  old: boolean;
}

/** What the server answers for an account that was taken over from another system. */
interface AskedForOldHash {
  oldHash: string;
  state: string;
}

/** Where a registration ends. */
interface Finish {
  path: string;
  name?: string;
  token?: string | undefined;
  access?: string | undefined;
}

interface LoginStarted {
  state: string;
  ke2: Uint8Array;
  ksf: Uint8Array;
  oldHash: string | null;
}

interface RegisterStarted {
  state: string;
  response: Uint8Array;
  ksf: Uint8Array;
}

function serverConfig(answer: Fields): ServerConfig {
  return {
    suite: answer.text("suite"),
    context: answer.text("context"),
    ksf: answer.text("ksf"),
    registration: answer.choice("registration", ["token", "open", "closed"]),
  };
}

function loginStarted(answer: Fields): LoginStarted {
  const oldHash = answer.optional("old_hash");
  return { state: answer.text("state"), ke2: answer.bytes("ke2"), ksf: answer.bytes("ksf"), oldHash };
}

function registerStarted(answer: Fields): RegisterStarted {
  return { state: answer.text("state"), response: answer.bytes("response"), ksf: answer.bytes("ksf") };
}

/** Of a session that can only set a new password. */
function accessToken(answer: Fields): string {
  return answer.text("access_token");
}

/** A recovery is the same only with the same code of the same account. */
function recoveryKey(told: string, name: string): string {
  return `${told} ${name.normalize("NFC").toLowerCase()}`;
}

/** The options for the first or second of two equal parts of the work. (That of an account with an old hash makes the first part shorter.) */
function part(options: LoginOptions, index: 0 | 1): LoginOptions {
  const onProgress = options.onProgress;
  return onProgress === undefined ? options : { ...options, onProgress: (done) => onProgress((index + done) / 2) };
}

function makeCodes(count: number): string[] {
  if (!Number.isInteger(count) || count < 0 || count > MOST_CODES) {
    throw new RangeError(`${count} recovery codes requested; expected 0 to ${MOST_CODES}`);
  }
  return Array.from({ length: count }, newRecoveryCode);
}

async function forServer(codes: string[]): Promise<string[]> {
  return Promise.all(codes.map(async (code) => toBase64url(await recoveryCodeForServer(code))));
}

/** An error of the protocol as one of the login. */
function explain(error: unknown): never {
  throw LoginError.of(error);
}
