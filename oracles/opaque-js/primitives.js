/** What OPAQUE stands on, from `@noble`: the OPRF of RFC 9497 and the group ristretto255, HKDF, HMAC and SHA-512, Argon2id, ML-KEM-768. */
import { ristretto255, ristretto255_hasher, ristretto255_oprf } from '@noble/curves/ed25519.js';
import { argon2id } from '@noble/hashes/argon2.js';
import { expand as hkdfExpand, extract as hkdfExtract } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha512 } from '@noble/hashes/sha2.js';
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js';
import { timingSafeEqual } from 'node:crypto';
import { Refused } from './lines.js';

/** @typedef {Uint8Array} Bytes */
/** @typedef {(length: number) => Bytes} Random */

/** ML-KEM-768; a key of a peer's that is none is refused. */
export const kem = {
  keygen: ml_kem768.keygen,
  decapsulate: ml_kem768.decapsulate,
  /** @param {Bytes} key @param {Bytes} random */
  encapsulate: (key, random) => {
    try {
      return ml_kem768.encapsulate(key, random);
    } catch (error) {
      throw new Refused(String(error));
    }
  },
};
export const concat = concatBytes;
export const text = utf8ToBytes;
const { Point } = ristretto255;
const { Fn } = Point;
const oprf = ristretto255_oprf.oprf;

/** `bytes` cut into pieces of these lengths, which must be all of it. @param {Bytes} bytes @param {number[]} lengths @returns {Bytes[]} */
export function cut(bytes, lengths) {
  const expected = lengths.reduce((sum, length) => sum + length, 0);
  if (bytes.length !== expected) throw new Refused(`${bytes.length} bytes; expected ${expected}`);
  let at = 0;
  return lengths.map((length) => bytes.subarray(at, (at += length)));
}

/** @param {Bytes} one @param {Bytes} other */
export const same = (one, other) => one.length === other.length && timingSafeEqual(one, other);

/** @param {Bytes} one @param {Bytes} other @returns {Bytes} */
export const xor = (one, other) => one.map((byte, at) => byte ^ other[at]);

/** The length in two bytes, big endian, and the bytes. @param {Bytes} bytes @returns {Bytes} */
export const vec = (bytes) => concat(Uint8Array.of(bytes.length >> 8, bytes.length & 255), bytes);

export const hash = sha512;
/** @param {Bytes} key @param {Bytes} message */
export const mac = (key, message) => hmac(sha512, key, message);
/** @param {Bytes} salt @param {Bytes} ikm */
export const extract = (salt, ikm) => hkdfExtract(sha512, ikm, salt);
/** @param {Bytes} prk @param {Bytes} info @param {number} length */
export const expand = (prk, info, length) => hkdfExpand(sha512, prk, info, length);

/** A point that a peer sent: canonical, and not the identity. @param {Bytes} bytes */
export function element(bytes) {
  try {
    const point = Point.fromBytes(bytes);
    if (!point.equals(Point.ZERO)) return point;
  } catch {
    // Said below.
  }
  throw new Refused('not a valid element');
}

/** The product of a secret scalar and a peer's point. @param {Bytes} scalar @param {Bytes} point @returns {Bytes} */
export const product = (scalar, point) => element(point).multiply(Fn.fromBytes(scalar)).toBytes();

/** @param {Bytes} scalar @returns {Bytes} */
export const publicKey = (scalar) => Point.BASE.multiply(Fn.fromBytes(scalar)).toBytes();

/** DeriveKeyPair of RFC 9497 §3.2.1. @param {Bytes} seed @param {string} info @returns {{ secretKey: Bytes, publicKey: Bytes }} */
export const deriveKeyPair = (seed, info) => oprf.deriveKeyPair(seed, text(info));

/** Blind of RFC 9497 §3.3.1. Takes 64 bytes for the blind, which is then uniform. @param {Bytes} input @param {Random} random */
export function blind(input, random) {
  const wide = random(64).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const scalar = Fn.create(wide);
  const DST = concat(text('HashToGroup-OPRFV1-'), Uint8Array.of(0), text('-ristretto255-SHA512'));
  const point = ristretto255_hasher.hashToCurve(input, { DST });
  return { blind: Fn.toBytes(scalar), blinded: point.multiply(scalar).toBytes() };
}

/** BlindEvaluate. @param {Bytes} key @param {Bytes} blinded @returns {Bytes} */
export function evaluate(key, blinded) {
  element(blinded);
  return oprf.blindEvaluate(key, blinded);
}

/** Finalize. @param {Bytes} input @param {Bytes} blindScalar @param {Bytes} evaluated @returns {Bytes} */
export function finalize(input, blindScalar, evaluated) {
  element(evaluated);
  return oprf.finalize(input, blindScalar, evaluated);
}

/**
 * Stretch of RFC 9807 §2.2 with parameters in the encoding of docs/hybrid.md §2: none, or Argon2id as §7 has it.
 * @param {Bytes} params @param {Bytes} input @returns {Bytes}
 */
export function stretch(params, input) {
  const [kind, numbers] = cut(params, [1, 12]);
  const [m, t, p] = [0, 4, 8].map((at) => new DataView(numbers.buffer, numbers.byteOffset + at, 4).getUint32(0));
  if (kind[0] === 0 && m + t + p === 0) return input;
  if (kind[0] !== 1) throw new Refused('unknown key stretching function');
  return argon2id(input, new Uint8Array(16), { m, t, p, dkLen: 64, version: 0x13 });
}
