// Recovery codes: 16 random bytes, which the user writes down. The server is never told the code, only what is derived from it for that purpose.

import { LoginError } from "./connection.js";

/** Crockford's base 32, which has none of I, L, O and U. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Digits of a code: 128 bits, and two zeros behind them. */
const LENGTH = 26;

/** A new code. */
export function newRecoveryCode(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const text = codeText(bytes);
  bytes.fill(0);
  return text;
}

/** What the server is told of a code: HKDF-SHA-256, 32 bytes. */
export function recoveryCodeForServer(code: string): Promise<Uint8Array> {
  return derive(code, "candor-login-1: recovery");
}

/**
 * A key that only the owner of the code has: 32 bytes, for AES-256-GCM or the like. Encrypt the application's data key under it as well as under the export
 * key: the export key is lost with the password.
 *
 * @throws LoginError `recovery-code` if the text is no code.
 */
export function recoveryWrappingKey(code: string): Promise<Uint8Array> {
  return derive(code, "candor-login-1: wrapping key");
}

/** The text of a code's 16 bytes, in groups of five. */
export function codeText(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("") + "00";
  const digits = (bits.match(/.{5}/g) ?? []).map((five) => DIGITS[Number.parseInt(five, 2)]).join("");
  return (digits.match(/.{5}(?=.{2})|.+/g) ?? []).join("-");
}

/** The bytes of a code as its owner types it: in upper or lower case, with or without hyphens and spaces, I and L for 1, O for 0. */
export function codeBytes(text: string): Uint8Array {
  const refuse = (): never => {
    throw new LoginError("recovery-code", "a recovery code has 26 letters and digits; check it for typing mistakes");
  };
  const digits = text.replace(/[\s-]/g, "").toUpperCase().replace(/[IL]/g, "1").replace(/O/g, "0");
  if (digits.length !== LENGTH) return refuse();
  let bits = "";
  for (const digit of digits) {
    const value = DIGITS.indexOf(digit);
    if (value < 0) return refuse();
    bits += value.toString(2).padStart(5, "0");
  }
  if (!bits.endsWith("00")) return refuse();
  return Uint8Array.from({ length: 16 }, (_, at) => Number.parseInt(bits.slice(8 * at, 8 * at + 8), 2));
}

async function derive(code: string, label: string): Promise<Uint8Array> {
  const bytes = codeBytes(code);
  try {
    const key = await crypto.subtle.importKey("raw", bytes as BufferSource, "HKDF", false, ["deriveBits"]);
    const info = new TextEncoder().encode(label);
    const params = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info };
    return new Uint8Array(await crypto.subtle.deriveBits(params, key, 256));
  } finally {
    bytes.fill(0);
  }
}
