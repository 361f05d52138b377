// What is measured, in the page: both implementations of Argon2id take turns, and each call has a fresh module, as hash-wasm makes one for each.

import { argon2id } from "/node_modules/hash-wasm/dist/index.esm.js";
import { OpaqueClient } from "/dist/index.js";
import { loadModule } from "/dist/load.js";
import { Instance } from "/dist/worker.js";

const MEMORY_KIB = 64 << 10;
const PASSES = 3;
const LIMITS = { identity: true, leastMemoryKib: 0, leastWork: 0, mostMemoryKib: 1 << 20, mostWork: 8 << 20 };
const encode = (text) => new TextEncoder().encode(text);
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));

export async function measure(rounds) {
  const transcript = await (await fetch("/test/transcript.json")).json();
  const module = await loadModule();
  const response = unhex(transcript.response);
  const client = new OpaqueClient({ context: transcript.context, limits: LIMITS });
  const start = { text: true, limits: LIMITS, context: encode(transcript.context), client: null, server: null };

  const cases = {
    "Argon2id of hash-wasm": async () => {
      const salt = new Uint8Array(16);
      const words = { password: new Uint8Array(64), salt, parallelism: 1, iterations: PASSES, memorySize: MEMORY_KIB, hashLength: 64, outputType: "binary" };
      return timed(() => argon2id(words));
    },
    "Argon2id, as the end of a registration, in the page": async () => {
      const instance = new Instance(module);
      work(instance, { operation: "start-registration", ...start, password: encode("pw") });
      return timed(() => work(instance, { operation: "finish", message: response, ksf: ksf() }));
    },
    "a registration in a worker, with its start": async () =>
      timed(async () => {
        const registration = await client.startRegistration("pw");
        await registration.finish(response, ksf());
      }),
    "a login without key stretching, in the page": async () => {
      // The random numbers of the transcript, whose server has answered to them.
      const instance = new Instance(module);
      const real = crypto.getRandomValues;
      let random = unhex(transcript.plainRandom);
      crypto.getRandomValues = (out) => {
        out.set(random.subarray(0, out.length));
        random = random.subarray(out.length);
        return out;
      };
      try {
        return await timed(() => {
          work(instance, { operation: "start-login", ...start, password: encode(transcript.password) });
          work(instance, { operation: "finish", message: unhex(transcript.plainKe2), ksf: new Uint8Array(13) });
        });
      } finally {
        crypto.getRandomValues = real;
      }
    },
  };
  const all = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(cases)) all[name].push(await run());
  }
  client.close();
  const times = Object.fromEntries(Object.entries(all).map(([name, list]) => [name, { median: median(list), least: Math.min(...list) }]));
  const [theirs, ours, worker] = Object.values(times);
  const ratio = (x) => ({ median: x.median / theirs.median, least: x.least / theirs.least });
  return {
    times,
    ratios: { "Argon2id to hash-wasm": ratio(ours), "a registration in a worker to hash-wasm": ratio(worker) },
    engine: navigator.userAgent,
  };
}

function work(instance, request) {
  const report = instance.work(request, () => {});
  if (report.kind !== "answer") throw new Error(report.text);
}

async function timed(run) {
  const begin = performance.now();
  await run();
  return performance.now() - begin;
}

function median(list) {
  const sorted = list.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** 64 MiB, three passes, one lane. */
function ksf() {
  const view = new DataView(new ArrayBuffer(13));
  view.setUint8(0, 1);
  [MEMORY_KIB, PASSES, 1].forEach((number, index) => view.setUint32(1 + 4 * index, number));
  return new Uint8Array(view.buffer);
}
