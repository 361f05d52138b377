// OPAQUE's client, bytes in and bytes out (RFC 9807, suite `hybrid` of candor).

import { DEFAULT_LIMITS, DEFAULT_OLD_HASH_LIMITS, type Limits, type OldHashLimits } from "./limits.js";
import type { Start } from "./worker.js";
import { Workplaces, type Workplace, type WorkplacesOptions } from "./workplace.js";

/** What both sides of a deployment must agree on, and what this side accepts. */
export interface OpaqueClientOptions extends WorkplacesOptions {
  /** The application and its version, such as `example.org login 1` (RFC 9807 §3.3). The server must have the same. */
  context?: string | Uint8Array;
  /** The client's identity; without one it is the client's public key. */
  clientIdentity?: string | Uint8Array;
  /** The server's identity; without one it is the server's public key. */
  serverIdentity?: string | Uint8Array;
  /** Limits on key stretching. */
  limits?: Partial<Limits>;
}

/** How a password is taken. */
export interface StartOptions {
  /** Whether the password is text (the default), prepared as RFC 8265 says; otherwise its bytes are taken as they are. */
  text?: boolean;
  /** Cancels. */
  signal?: AbortSignal | undefined;
}

/** What long work reports, and what stops it. */
export interface FinishOptions {
  /** How far key stretching is, from 0 to 1. */
  onProgress?: ((fraction: number) => void) | undefined;
  /** Cancels, also in the middle of key stretching if that is in a worker. */
  signal?: AbortSignal | undefined;
}

/** The end of a registration. */
export interface Registered {
  /** To be sent to the server: 192 bytes. */
  upload: Uint8Array;
  /** 64 bytes for the application; each login will give the same. */
  exportKey: Uint8Array;
  /** The server's public key, 32 bytes; each login will give the same. */
  serverPublicKey: Uint8Array;
}

/** The end of a login. */
export interface LoggedIn {
  /** To be sent to the server: 64 bytes. */
  ke3: Uint8Array;
  /** 64 bytes, shared with the server, fresh in each login. */
  sessionKey: Uint8Array;
  /** 64 bytes, the same as at registration. */
  exportKey: Uint8Array;
  /** The server's public key, 32 bytes. */
  serverPublicKey: Uint8Array;
}

/** A client of one deployment. */
export class OpaqueClient {
  readonly #places: Workplaces;
  readonly #setting: Setting;

  constructor(options: OpaqueClientOptions = {}) {
    this.#places = new Workplaces(options);
    this.#setting = {
      context: bytes(options.context),
      client: options.clientIdentity === undefined ? null : bytes(options.clientIdentity),
      server: options.serverIdentity === undefined ? null : bytes(options.serverIdentity),
      limits: { ...DEFAULT_LIMITS, ...options.limits },
    };
  }

  /** Begins a registration: makes the request, 32 bytes. */
  async startRegistration(password: string | Uint8Array, options: StartOptions = {}): Promise<Registration> {
    return this.#start(options, async (place) => {
      const [request] = await place.run(this.#starting("start-registration", password, options), options);
      return new Registration(place, request as Uint8Array);
    });
  }

  /** Begins a login: makes KE1, 1280 bytes. */
  async startLogin(password: string | Uint8Array, options: StartOptions = {}): Promise<Login> {
    return this.#start(options, async (place) => {
      const [ke1] = await place.run(this.#starting("start-login", password, options), options);
      return new Login(place, ke1 as Uint8Array);
    });
  }

  /** The password of an account that was taken over with an old hash: what the server's scheme, `$name$cost$salt`, makes of the password as it was typed. */
  async oldHash(
    scheme: string,
    password: string | Uint8Array,
    options: { limits?: OldHashLimits; signal?: AbortSignal | undefined } = {},
  ): Promise<Uint8Array> {
    return this.#start(options, async (place) => {
      const limits = options.limits ?? DEFAULT_OLD_HASH_LIMITS;
      const [digest] = await place.run({ operation: "old-hash", scheme, password: bytes(password), limits }, options);
      return digest as Uint8Array;
    });
  }

  /** Ends the workers that wait for work. The client can be used again; it starts others. */
  close(): void {
    this.#places.close();
  }

  async #start<T>(options: { signal?: AbortSignal | undefined }, begin: (place: Workplace) => Promise<T>): Promise<T> {
    const place = await this.#places.take(options.signal);
    try {
      return await begin(place);
    } catch (error) {
      place.leave();
      throw error;
    }
  }

  #starting(operation: Start["operation"], password: string | Uint8Array, options: StartOptions): Start {
    return { operation, ...this.#setting, password: bytes(password), text: options.text ?? true };
  }
}

/** What all registrations and logins of a client have in common. */
type Setting = Omit<Start, "operation" | "password" | "text">;

/** A copy of these bytes: passwords move into the worker, or are overwritten. */
function bytes(input: string | Uint8Array | undefined): Uint8Array {
  return typeof input === "string" ? new TextEncoder().encode(input) : Uint8Array.from(input ?? []);
}

/** A registration that waits for the server's response. */
export class Registration {
  readonly #place: Workplace;
  /** To be sent to the server: 32 bytes. */
  readonly request: Uint8Array;

  /** @internal */
  constructor(place: Workplace, request: Uint8Array) {
    this.#place = place;
    this.request = request;
  }

  /** Ends the registration with the server's response, 64 bytes, and the key stretching parameters that came with it, 13 bytes. */
  async finish(response: Uint8Array, ksf: Uint8Array, options: FinishOptions = {}): Promise<Registered> {
    const answer = await this.#place.run({ operation: "finish", message: response, ksf }, options);
    const [upload, exportKey, serverPublicKey] = answer;
    return { upload, exportKey, serverPublicKey } as Registered;
  }

  /** Gives the registration up, and what it keeps. After {@link finish} it does nothing. */
  cancel(): void {
    this.#place.leave();
  }
}

/** A login that waits for the server's KE2. */
export class Login {
  readonly #place: Workplace;
  /** To be sent to the server: 1280 bytes. */
  readonly ke1: Uint8Array;

  /** @internal */
  constructor(place: Workplace, ke1: Uint8Array) {
    this.#place = place;
    this.ke1 = ke1;
  }

  /** Ends the login with the server's KE2, 1408 bytes, and the key stretching parameters that came with it, 13 bytes. */
  async finish(ke2: Uint8Array, ksf: Uint8Array, options: FinishOptions = {}): Promise<LoggedIn> {
    const answer = await this.#place.run({ operation: "finish", message: ke2, ksf }, options);
    const [ke3, sessionKey, exportKey, serverPublicKey] = answer;
    return { ke3, sessionKey, exportKey, serverPublicKey } as LoggedIn;
  }

  /** Gives the login up, and what it keeps. After {@link finish} it does nothing. */
  cancel(): void {
    this.#place.leave();
  }
}
