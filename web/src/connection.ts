// Requests to the server, and what can be wrong with them.

import { Fields, Malformed } from "./answers.js";
import { OpaqueError } from "./error.js";

/** How requests are sent: `fetch`, or what a test puts in its place. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
/** Makes of an answer what was asked for. */
export type Read<A> = (answer: Fields) => A;

/** How long an answer may take. The server holds answers back for a while when strangers guess at an account. */
const TIMEOUT = 60_000;
/** The longest answer in bytes: an account has at most 64 sessions. */
const MOST = 128 << 10;
/** Before the types of the server's problems. */
const PREFIX = "urn:candor:login:";

/**
 * What was wrong. The first group comes from the server (its `openapi.json` has the statuses), the second from this client. Others may come.
 *
 * - `login-failed`: wrong name or password; the server does not say which. Also when this client finds that the server can't be the right one.
 * - `throttled`, `busy`, `unavailable`: try again after `retryAfter` seconds.
 * - `no-session`, `refresh-reused`: the session has ended; log in.
 * - `record-changed`, `state-expired`, `state-used`, `state-invalid`: start again.
 * - `network`: there was no answer. `timeout`: it did not come in time. `answer`: it was not a login server's.
 * - `password`: the password can't be used; `message` says why. `recovery-code`: it is mistyped.
 * - `limits`, `old-hash`: the server asks for too little or too much key stretching.
 * - `memory`: the machine has too little.
 * - `input`: a call while another of the same login was under way. `internal`: the server has failed, or the module here can't be run (`cause` says why).
 */
export type LoginErrorType =
  | ("login-failed" | "throttled" | "busy" | "unavailable" | "no-session" | "refresh-reused" | "name-taken")
  | ("registration-token" | "record-changed" | "state-expired" | "state-used" | "state-invalid" | "scope")
  | ("no-such-session" | "no-such-device" | "malformed" | "internal")
  | ("network" | "timeout" | "answer" | "password" | "recovery-code" | "limits" | "old-hash" | "memory")
  | (string & {});

/** What an error may say besides. */
interface More {
  status?: number;
  retryAfter?: number | undefined;
  cause?: unknown;
  uncertain?: boolean;
  recoveryCodes?: readonly string[];
}

/** Why something did not succeed. What was cancelled rejects with the signal's reason instead. */
export class LoginError extends Error {
  override readonly name = "LoginError";
  /** What was wrong. */
  readonly type: LoginErrorType;
  /** The status of the server's answer; 0 if the error was found here. */
  readonly status: number;
  /** Seconds to wait before another try, where that may help. */
  readonly retryAfter: number | undefined;
  /**
   * Whether the server may have done it all the same: the last request was sent, and no answer of a login server came back. After a registration or a change
   * of the password let the user log in, and make new recovery codes.
   */
  readonly uncertain: boolean;
  /** Not a field that a log would print. */
  readonly #recoveryCodes: readonly string[];

  constructor(type: LoginErrorType, message: string, more: More = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.type = type;
    this.status = more.status ?? 0;
    this.retryAfter = more.retryAfter;
    this.uncertain = more.uncertain ?? false;
    this.#recoveryCodes = more.recoveryCodes ?? [];
  }

  /** If this is {@link uncertain}: the recovery codes that were made. They are good if the server has done it. */
  get recoveryCodes(): readonly string[] {
    return this.#recoveryCodes;
  }

  /** @internal The same error of a last request: if there was no answer, with the codes that the server may have. */
  static ofLast(error: unknown, recoveryCodes: readonly string[]): unknown {
    if (!(error instanceof LoginError) || (error.status > 0 && error.status < 500)) return error;
    const { type, message, status, retryAfter, cause } = error;
    return new LoginError(type, message, { status, retryAfter, cause, uncertain: true, recoveryCodes });
  }

  /** @internal What the protocol reports, as an error of the login; anything else as it is. */
  static of(error: unknown): unknown {
    if (!(error instanceof OpaqueError)) return error;
    if (error.code === "login") return new LoginError("login-failed", "login failed: wrong name or password", { cause: error });
    const type = error.code === "message" ? "answer" : error.code;
    return new LoginError(type, error.message, { cause: error });
  }
}

/** Where the server is. */
export class Connection {
  readonly #origin: string;
  readonly #fetch: Fetch;
  readonly #timeout: number;

  constructor(base: string | URL | undefined, fetch: Fetch | undefined, timeout: number | undefined) {
    this.#origin = origin(base);
    // Not as a method of this object: a page's `fetch` wants to be called on the window.
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#timeout = timeout ?? TIMEOUT;
  }

  get<A>(path: string, read: Read<A>, token?: string, signal?: AbortSignal): Promise<A> {
    return this.#call("GET", path, read, undefined, token, signal);
  }

  post<A>(path: string, read: Read<A>, body: object, token?: string, signal?: AbortSignal): Promise<A> {
    return this.#call("POST", path, read, body, token, signal);
  }

  put<A>(path: string, read: Read<A>, body: object, token?: string, signal?: AbortSignal): Promise<A> {
    return this.#call("PUT", path, read, body, token, signal);
  }

  /** The answer has nothing in it. */
  async delete(path: string, token: string): Promise<void> {
    await this.#call("DELETE", path, null, undefined, token, undefined);
  }

  /** Fails because of an answer that no login server gives. */
  refuse(why: string): never {
    throw new LoginError("answer", `answer of ${this.#origin} is not a login server's: ${why}`);
  }

  async #call<A>(method: string, path: string, read: Read<A> | null, body?: object, token?: string, signal?: AbortSignal): Promise<A> {
    signal?.throwIfAborted();
    const late = new AbortController();
    const cancel = (): void => late.abort(signal?.reason);
    signal?.addEventListener("abort", cancel, { once: true });
    const timer = setTimeout(() => late.abort(), this.#timeout);
    try {
      const headers: Record<string, string> = {};
      if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
      if (body !== undefined) headers["Content-Type"] = "application/json";
      const response = await this.#fetch(this.#origin + path, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
        // The tokens are in the requests; a cookie would let other sites make some.
        credentials: "omit",
        cache: "no-store",
        redirect: "error",
        referrerPolicy: "no-referrer",
        signal: late.signal,
      });
      const text = await this.#text(response);
      if (!response.ok) throw this.#problem(response, text);
      return read === null ? (undefined as A) : this.#read(text, read);
    } catch (error) {
      if (error instanceof LoginError) throw error;
      signal?.throwIfAborted();
      if (late.signal.aborted) {
        throw new LoginError("timeout", `${this.#origin} did not answer within ${this.#timeout / 1000} s`, { cause: error });
      }
      throw new LoginError("network", `can't reach ${this.#origin}`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** The body, if it is not longer than any answer of a login server. */
  async #text(response: Response): Promise<string> {
    if (response.body === null) return "";
    const [reader, decoder] = [response.body.getReader(), new TextDecoder()];
    let [text, length] = ["", 0];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      length += value.length;
      if (length > MOST) {
        await reader.cancel();
        return this.refuse(`it is longer than ${MOST} bytes`);
      }
      text += decoder.decode(value, { stream: true });
    }
  }

  #read<A>(text: string, read: Read<A>): A {
    const value = this.#json(text);
    try {
      return read(new Fields(value));
    } catch (error) {
      if (error instanceof Malformed) return this.refuse(error.message);
      throw error;
    }
  }

  #json(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      // Not with its cause: that quotes from the answer, in which there may be a token.
      return this.refuse("expected JSON");
    }
  }

  /** RFC 9457. */
  #problem(response: Response, text: string): LoginError {
    const status = response.status;
    const problem = text.startsWith("{") ? (this.#json(text) as { type?: unknown; title?: unknown; detail?: unknown }) : {};
    if (typeof problem.type !== "string" || typeof problem.title !== "string") {
      return this.refuse(`status ${status} without a problem in it`);
    }
    const type = problem.type.startsWith(PREFIX) ? problem.type.slice(PREFIX.length) : problem.type;
    const detail = typeof problem.detail === "string" ? `: ${problem.detail}` : "";
    const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
    const retryAfter = Number.isFinite(seconds) ? seconds : undefined;
    return new LoginError(type, problem.title + detail, { status, retryAfter });
  }
}

/** The origin of a server: what it is told must not be read on the way. */
function origin(base: string | URL | undefined): string {
  const here = (globalThis as { location?: { origin?: string } }).location?.origin;
  const given = base ?? here;
  if (given === undefined || given === "null") throw new TypeError("no server given; expected https://HOST[:PORT]");
  const url = new URL(given, here === "null" ? undefined : here);
  const extra = (url.pathname !== "/" && url.pathname !== "") || url.search !== "" || url.username !== "" || url.password !== "";
  if (extra) throw new TypeError(`server is ${url.href}; expected https://HOST[:PORT] and nothing else`);
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback)) {
    throw new TypeError(`server is ${url.origin}; expected https://, or http:// and a loopback address`);
  }
  return url.origin;
}
