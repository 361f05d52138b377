// Bytes in JSON: base64url without padding (RFC 4648, section 5).

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const VALUES = new Map([...DIGITS].map((digit, value) => [digit, value]));

/** The text of these bytes. */
export function toBase64url(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const group = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    const digits = Math.min(3, bytes.length - at) + 1;
    for (let digit = 0; digit < digits; digit++) text += DIGITS[(group >> (18 - 6 * digit)) & 63];
  }
  return text;
}

/** The bytes of a text; `null` if it is not the text of any bytes. */
export function fromBase64url(text: string): Uint8Array | null {
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let [bits, value, length] = [0, 0, 0];
  for (const digit of text) {
    const next = VALUES.get(digit);
    if (next === undefined) return null;
    value = ((value << 6) | next) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[length++] = (value >> bits) & 255;
    }
  }
  // One text for the same bytes: no lone digit, and no bits that belong to no byte.
  const clean = bits < 6 && (value & ((1 << bits) - 1)) === 0;
  return clean ? bytes : null;
}
