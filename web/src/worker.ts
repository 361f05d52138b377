// Runs the WebAssembly module: as a worker, or beside the page where no worker can be started.
//
// This file imports nothing but types. Bundlers then can copy it as it is, and the page needs no other script in its worker. It has more than 4 KiB, so that
// Vite does not turn it into a `data:` URL, which is no worker's under a Content Security Policy.

import type { OpaqueErrorCode } from "./error.js";
import type { Limits, OldHashLimits } from "./limits.js";

/** The name that tells our worker that it is one: the same as in `name.ts`. */
const NAME = "@candor/opaque";

/** How a registration or login begins. The password is overwritten when it has been read. */
export interface Start {
  operation: "start-registration" | "start-login";
  text: boolean;
  limits: Limits;
  context: Uint8Array;
  client: Uint8Array | null;
  server: Uint8Array | null;
  password: Uint8Array;
}

/** What the module can be asked; its `request.rs` has the encoding. */
export type Request =
  | Start
  | { operation: "finish"; message: Uint8Array; ksf: Uint8Array }
  | { operation: "old-hash"; limits: OldHashLimits; scheme: string; password: Uint8Array }
  | { operation: "forget" };

/** To the worker: first the module, then requests, one at a time. */
export type Order = { module: WebAssembly.Module } | { request: Request };

/** From the worker. */
export type Report =
  | { kind: "ready" }
  | { kind: "progress"; fraction: number }
  /** `memory` is how many bytes the module has by now. */
  | { kind: "answer"; fields: Uint8Array[]; memory: number }
  | { kind: "refusal"; code: OpaqueErrorCode; text: string; memory: number }
  /** The module is broken, or there is no memory. */
  | { kind: "failure"; text: string };

/** What the module exports; its `ffi/page.rs` describes it. */
interface Exports {
  memory: WebAssembly.Memory;
  prepare(length: number): number;
  work(): number;
  answer(): number;
  answer_length(): number;
  clear(): void;
}

const OPERATIONS = ["start-registration", "start-login", "finish", "old-hash", "forget"] as const;

/** By the numbers of `Code` in the module's `refusal.rs`. */
const CODES: readonly OpaqueErrorCode[] = ["login", "password", "limits", "old-hash", "message", "memory", "input"];

/** What `crypto.getRandomValues` gives at once. */
const RANDOM = 65536;

/** The module with a memory of its own. */
export class Instance {
  readonly #exports: Exports;
  #onProgress: (fraction: number) => void = () => {};
  #busy = false;

  constructor(module: WebAssembly.Module) {
    const page = {
      // Addresses come as signed numbers: from 2 GiB on they are negative.
      random: (at: number, length: number): void => {
        for (let from = 0; from < length; from += RANDOM) {
          const bytes = new Uint8Array(this.#exports.memory.buffer, (at >>> 0) + from, Math.min(RANDOM, length - from));
          crypto.getRandomValues(bytes);
        }
      },
      nfc: (from: number, length: number, to: number, capacity: number): number => {
        const memory = new Uint8Array(this.#exports.memory.buffer);
        const text = new TextDecoder().decode(memory.subarray(from >>> 0, (from >>> 0) + length)).normalize("NFC");
        return new TextEncoder().encodeInto(text, memory.subarray(to >>> 0, (to >>> 0) + capacity)).written;
      },
      progress: (fraction: number): void => this.#onProgress(fraction),
    };
    this.#exports = new WebAssembly.Instance(module, { page }).exports as unknown as Exports;
  }

  /** Does what is asked, and reports how it ended. */
  work(request: Request, onProgress: (fraction: number) => void): Report {
    // Asked from `onProgress`, in the middle of its work: what it has in its memory must stay.
    if (this.#busy) return { kind: "failure", text: "the module is at work" };
    this.#busy = true;
    this.#onProgress = onProgress;
    try {
      this.#write(encode(request));
      wipe(request);
      const code = this.#exports.work();
      const answer = this.#answer();
      this.#exports.clear();
      const memory = this.#exports.memory.buffer.byteLength;
      if (code === 0) return { kind: "answer", fields: decode(answer), memory };
      return { kind: "refusal", code: CODES[code - 1] ?? "message", text: new TextDecoder().decode(answer), memory };
    } catch (error) {
      // A trap leaves the module in no defined state, with secrets in its memory perhaps.
      new Uint8Array(this.#exports.memory.buffer).fill(0);
      return { kind: "failure", text: String(error) };
    } finally {
      this.#onProgress = () => {};
      this.#busy = false;
    }
  }

  #write(parts: Uint8Array[]): void {
    let at = this.#exports.prepare(parts.reduce((length, part) => length + part.length, 0)) >>> 0;
    // After `prepare`: it may have grown the memory.
    const memory = new Uint8Array(this.#exports.memory.buffer);
    for (const part of parts) {
      memory.set(part, at);
      at += part.length;
    }
  }

  #answer(): Uint8Array {
    const [at, length] = [this.#exports.answer() >>> 0, this.#exports.answer_length()];
    return new Uint8Array(this.#exports.memory.buffer, at, length).slice();
  }
}

/** The parts of a request. Secrets are not copied. */
function encode(request: Request): Uint8Array[] {
  const operation = Uint8Array.of(OPERATIONS.indexOf(request.operation));
  switch (request.operation) {
    case "start-registration":
    case "start-login": {
      const { text, limits, context, client, server, password } = request;
      const { identity, leastMemoryKib, leastWork, mostMemoryKib, mostWork } = limits;
      const bounds = numbers([Number(identity), leastMemoryKib, leastWork, mostMemoryKib, mostWork]);
      const fields = [context, client, server, password].flatMap(field);
      return [operation, Uint8Array.of(Number(text)), bounds, ...fields];
    }
    case "finish":
      return [operation, ...field(request.message), ...field(request.ksf)];
    case "old-hash": {
      const { memory, work, bcrypt, pbkdf2 } = request.limits;
      const scheme = new TextEncoder().encode(request.scheme);
      return [operation, numbers([memory, ...work, ...bcrypt, ...pbkdf2]), ...field(scheme), ...field(request.password)];
    }
    case "forget":
      return [operation];
  }
}

/** Eight bytes each. */
function numbers(values: number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(8 * values.length));
  // A limit of Infinity is none.
  const whole = (value: number): bigint => BigInt(Math.floor(Math.min(Math.max(value, 0), Number.MAX_SAFE_INTEGER)));
  values.forEach((value, index) => view.setBigUint64(8 * index, whole(value), true));
  return new Uint8Array(view.buffer);
}

/** A field with its length before it. */
function field(bytes: Uint8Array | null): Uint8Array[] {
  const length = new DataView(new ArrayBuffer(4));
  length.setUint32(0, bytes === null ? 0xffffffff : bytes.length, true);
  return [new Uint8Array(length.buffer), bytes ?? new Uint8Array()];
}

/** The fields of an answer, which is overwritten. */
function decode(answer: Uint8Array): Uint8Array[] {
  const view = new DataView(answer.buffer);
  const fields: Uint8Array[] = [];
  for (let at = 0; at < answer.length; ) {
    const length = view.getUint32(at, true);
    fields.push(answer.slice(at + 4, at + 4 + length));
    at += 4 + length;
  }
  answer.fill(0);
  return fields;
}

function wipe(request: Request): void {
  if ("password" in request) request.password.fill(0);
}

/** What `node:worker_threads` gives a thread, as far as we need it. */
interface Thread {
  parentPort: { on(event: "message", listener: (order: Order) => void): void; postMessage: Post } | null;
  workerData: unknown;
}
type Post = (report: Report, transfer: ArrayBuffer[]) => void;

/** Does orders and reports. */
function serve(post: Post): (order: Order) => void {
  let instance: Instance | undefined;
  return (order) => {
    if ("module" in order) {
      instance = new Instance(order.module);
      return post({ kind: "ready" }, []);
    }
    const report = instance?.work(order.request, (fraction) => post({ kind: "progress", fraction }, []));
    if (report === undefined) return;
    // What is transferred has no copy left here.
    post(report, report.kind === "answer" ? report.fields.map(({ buffer }) => buffer as ArrayBuffer) : []);
  };
}

/** Starts, if this is our worker and not a page that only wants {@link Instance}. */
function start(): void {
  const scope = globalThis as unknown as {
    document?: unknown;
    name?: unknown;
    onmessage: ((event: { data: Order }) => void) | null;
    postMessage: Post;
    process?: { getBuiltinModule?(name: string): unknown };
  };
  if (scope.document !== undefined) return;
  if (scope.name === NAME) {
    const handle = serve((report, transfer) => scope.postMessage(report, transfer));
    scope.onmessage = ({ data }) => handle(data);
    return;
  }
  const thread = scope.process?.getBuiltinModule?.("node:worker_threads") as Thread | undefined;
  const port = thread?.parentPort;
  if (port != null && thread?.workerData === NAME) port.on("message", serve((report, transfer) => port.postMessage(report, transfer)));
}

start();
