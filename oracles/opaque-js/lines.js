/** Commands and answers as crates/opaque-ffi/tests/peer/mod.rs describes them: a line each, bytes in hexadecimal digits, `-` for none. */
import { createInterface } from 'node:readline';

/** What a peer sent is wrong, or the password is. */
export class Refused extends Error {}

/** @param {string} word @returns {Uint8Array} */
export const bytes = (word) => Uint8Array.from(Buffer.from(word === '-' ? '' : word, 'hex'));

/** @param {Uint8Array | null | undefined} value */
const digits = (value) => (value?.length ? Buffer.from(value).toString('hex') : '-');

/** Answers each command by the function of its name. @param {Record<string, (...words: string[]) => (Uint8Array | null | undefined)[]>} commands */
export async function serve(commands) {
  for await (const line of createInterface({ input: process.stdin })) {
    const [name, ...words] = line.split(' ');
    try {
      process.stdout.write(`ok ${commands[name](...words).map(digits).join(' ')}\n`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      process.stdout.write(`refused ${error.message}\n`);
    }
  }
}
