// Why the protocol did not get on.

/**
 * - `login`: wrong password, or the server is not the right one, or a message was changed.
 * - `password`: the password can't be used; `message` says why.
 * - `limits`: the server asks for too little or too much key stretching.
 * - `old-hash`: the same of an old password hash, or there is no such hash.
 * - `message`: a message of the server is malformed.
 * - `memory`: key stretching needs more memory than there is.
 * - `input`: what the application has passed can't be used.
 * - `network`: the module can't be loaded.
 * - `internal`: the module has failed, or can't be compiled (a Content Security Policy without `wasm-unsafe-eval`?).
 */
export type OpaqueErrorCode = "login" | "password" | "limits" | "old-hash" | "message" | "memory" | "input" | "network" | "internal";

/** Why the protocol did not get on. */
export class OpaqueError extends Error {
  override readonly name = "OpaqueError";
  readonly code: OpaqueErrorCode;

  constructor(code: OpaqueErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
