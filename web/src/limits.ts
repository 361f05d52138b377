// What a client computes for a server. Anybody who poses as the server can ask, so there is a least, below which a password would be stretched too
// little, and a most, above which the client would freeze.

/** Limits on OPAQUE's key stretching, Argon2id. */
export interface Limits {
  /** Whether no stretching at all is fine. **Only in tests.** */
  identity: boolean;
  /** The least memory, in KiB. */
  leastMemoryKib: number;
  /** The least work: memory in KiB times passes. */
  leastWork: number;
  /** The most memory, in KiB. */
  mostMemoryKib: number;
  /** The most work. */
  mostWork: number;
}

/** At least 19 MiB with two passes or as much work (OWASP's minimum of 2023); at most 1 GiB and 8 GiB written in all. */
export const DEFAULT_LIMITS: Readonly<Limits> = {
  identity: false,
  leastMemoryKib: 19 << 10,
  leastWork: 2 * (19 << 10),
  mostMemoryKib: 1 << 20,
  mostWork: 8 << 20,
};

/** Limits on the old password hashes of accounts that were taken over from another system. */
export interface OldHashLimits {
  /** The most memory of Argon2 and scrypt, in bytes. */
  memory: number;
  /** The least and the most bytes that Argon2 and scrypt write in all. */
  work: readonly [number, number];
  /** The least and the greatest cost of bcrypt. */
  bcrypt: readonly [number, number];
  /** The least and the most iterations of PBKDF2. */
  pbkdf2: readonly [number, number];
}

/** Argon2 and scrypt: at most 256 MiB, and 1 MiB to 2 GiB written in all. bcrypt: 4 to 14. PBKDF2: 1,000 to 2,000,000 iterations. */
export const DEFAULT_OLD_HASH_LIMITS: Readonly<OldHashLimits> = {
  memory: 256 * 2 ** 20,
  work: [2 ** 20, 2 ** 31],
  bcrypt: [4, 14],
  pbkdf2: [1000, 2_000_000],
};
