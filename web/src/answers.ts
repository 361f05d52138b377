// What the server answers, field by field: nothing that it sends is taken for what it should be.

import { fromBase64url } from "./base64url.js";

/** An answer is not as the interface describes it. */
export class Malformed extends Error {}

/** The last second that a `Date` knows. */
const LAST = 8_640_000_000_000;

/** The fields of an object in an answer. Fields that nobody asks for may come. */
export class Fields {
  readonly #fields: Record<string, unknown>;

  constructor(value: unknown) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Malformed("expected an object");
    this.#fields = value as Record<string, unknown>;
  }

  text(name: string): string {
    const value = this.#fields[name];
    return typeof value === "string" ? value : wrong(name, "text");
  }

  /** A text that may be missing. */
  optional(name: string): string | null {
    return this.#fields[name] == null ? null : this.text(name);
  }

  /** One of these texts. */
  choice<T extends string>(name: string, of: readonly T[]): T {
    const value = this.text(name);
    return of.find((one) => one === value) ?? wrong(name, of.map((one) => `"${one}"`).join(" or "));
  }

  bytes(name: string): Uint8Array {
    return fromBase64url(this.text(name)) ?? wrong(name, "base64url without padding");
  }

  flag(name: string): boolean {
    const value = this.#fields[name];
    return typeof value === "boolean" ? value : wrong(name, "true or false");
  }

  /** A number of things. */
  count(name: string): number {
    const value = this.#fields[name];
    return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : wrong(name, "a whole number from 0");
  }

  /** Seconds since 1970. */
  time(name: string): number {
    const seconds = this.count(name);
    return seconds <= LAST ? seconds : wrong(name, "seconds since 1970");
  }

  list(name: string): Fields[] {
    const value = this.#fields[name];
    return Array.isArray(value) ? value.map((one) => new Fields(one)) : wrong(name, "a list");
  }
}

/** The value is not told: it may be a token. */
function wrong(name: string, expected: string): never {
  throw new Malformed(`\`${name}\` is not ${expected}`);
}
