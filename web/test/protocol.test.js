// The protocol without a server of candor's: what the module computes, where it computes, and what it refuses.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it, mock } from "node:test";
import { inflateRawSync } from "node:zlib";
import { OpaqueClient, OpaqueError } from "@candor/opaque";
import { Instance } from "../dist/worker.js";
import simd from "../dist/module-simd.js";
import scalar from "../dist/module-scalar.js";

const fails = (code) => (error) => error instanceof OpaqueError && error.code === code;
const unhex = (text) => Uint8Array.from(Buffer.from(text, "hex"));
const transcript = JSON.parse(readFileSync(new URL("transcript.json", import.meta.url), "utf8"));
const NO_STRETCHING = new Uint8Array(13);
const WEAK = { identity: true, leastMemoryKib: 0, leastWork: 0 };

/** The parameters of Argon2id with so much memory, as a server sends them. */
function argon2id(memoryKib, iterations) {
  const view = new DataView(new ArrayBuffer(13));
  view.setUint8(0, 1);
  [memoryKib, iterations, 1].forEach((number, index) => view.setUint32(1 + 4 * index, number));
  return new Uint8Array(view.buffer);
}

describe("both modules", () => {
  const modules = {
    simd: inflateRawSync(Buffer.from(simd, "base64")),
    scalar: Buffer.from(scalar, "base64"),
  };
  for (const [name, bytes] of Object.entries(modules)) {
    it(`compute what the native library has computed: ${name}`, (test) => {
      let random = unhex(transcript.random);
      test.mock.method(crypto, "getRandomValues", (out) => {
        out.set(random.subarray(0, out.length));
        random = random.subarray(out.length);
        return out;
      });
      const instance = new Instance(new WebAssembly.Module(bytes));
      const work = (request) => {
        const report = instance.work(request, () => {});
        assert.equal(report.kind, "answer", report.text);
        return report.fields.map((field) => Buffer.from(field).toString("hex"));
      };
      const encode = (text) => new TextEncoder().encode(text);
      const limits = { identity: false, leastMemoryKib: 0, leastWork: 0, mostMemoryKib: 1024, mostWork: 2048 };
      const start = { text: true, limits, context: encode(transcript.context), client: null, server: null };
      const [ksf, response, ke2] = [transcript.ksf, transcript.response, transcript.ke2].map(unhex);
      // As one that types it on another keyboard.
      const password = () => encode(transcript.password.normalize("NFD"));

      assert.deepEqual(work({ operation: "start-registration", ...start, password: password() }), [transcript.request]);
      const registered = work({ operation: "finish", message: response, ksf });
      assert.deepEqual(registered.slice(0, 2), [transcript.upload, transcript.exportKey]);
      assert.deepEqual(work({ operation: "start-login", ...start, password: password() }), [transcript.ke1]);
      const login = work({ operation: "finish", message: ke2, ksf });
      assert.deepEqual(login.slice(0, 3), [transcript.ke3, transcript.sessionKey, transcript.exportKey]);
      assert.equal(random.length, 0, "all of it was drawn");
    });
  }

  it("need nothing of a page but random numbers, normal forms, and an ear", () => {
    for (const bytes of Object.values(modules)) {
      const imports = WebAssembly.Module.imports(new WebAssembly.Module(bytes)).map(({ name }) => name);
      assert.deepEqual(imports.sort(), ["nfc", "progress", "random"]);
    }
  });
});

for (const worker of ["auto", "inline"]) {
  describe(`a client whose work is done: ${worker}`, () => {
    const client = new OpaqueClient({ worker, context: "test", limits: WEAK });
    const response = unhex(transcript.response);

    it("registers", async () => {
      const registration = await client.startRegistration("pw");
      assert.equal(registration.request.length, 32);
      const { upload, exportKey, serverPublicKey } = await registration.finish(response, NO_STRETCHING);
      assert.deepEqual([upload.length, exportKey.length, serverPublicKey.length], [192, 64, 32]);
      await assert.rejects(registration.finish(response, NO_STRETCHING), fails("input"), "it is over");
    });

    it("reports what it refuses", async () => {
      await assert.rejects(client.startLogin("tab\t"), fails("password"));
      const login = await client.startLogin("pw");
      assert.equal(login.ke1.length, 1280);
      await assert.rejects(login.finish(unhex(transcript.ke2), NO_STRETCHING), fails("login"));
      const malformed = await client.startRegistration("pw");
      await assert.rejects(malformed.finish(response.slice(1), NO_STRETCHING), fails("message"));
      const strict = new OpaqueClient({ worker });
      const weak = await strict.startRegistration("pw");
      await assert.rejects(weak.finish(response, argon2id(1024, 1)), fails("limits"));
      strict.close();
      const limits = { memory: 0, work: [0, 0], bcrypt: [4, 4], pbkdf2: [0, 0] };
      await assert.rejects(client.oldHash("$bcrypt$r=5$FEs9aRp7Ts85z3Ncf6ennA", "", { limits }), fails("old-hash"));
    });

    it("computes old hashes", async () => {
      // bcrypt's own test vector, $2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s., behind our label.
      const digest = await client.oldHash("$bcrypt$r=6$FEs9aRp7Ts85z3Ncf6ennA", "");
      assert.equal(new TextDecoder().decode(digest.subarray(0, 18)), "candor-old-hash-1\0");
      assert.equal(Buffer.from(digest.subarray(18)).toString("hex"), "557e94f34bf286e8719a26be94ac1e16d95ef9f819dee0");
    });

    it("does several at a time", async () => {
      const begun = await Promise.all(["a", "b", "c"].map((password) => client.startRegistration(password)));
      begun[0].cancel();
      const done = await Promise.all(begun.slice(1).map((one) => one.finish(response, argon2id(1024, 1))));
      assert.equal(done.length, 2);
      await assert.rejects(begun[0].finish(response, NO_STRETCHING), fails("input"));
    });

    it("leaves the caller's bytes as they are", async () => {
      const password = new TextEncoder().encode("pw");
      (await client.startLogin(password)).cancel();
      assert.deepEqual(password, new TextEncoder().encode("pw"));
    });

    it("is asked one thing at a time", async () => {
      const registration = await client.startRegistration("pw");
      const finish = registration.finish(response, argon2id(1024, 1));
      await assert.rejects(registration.finish(response, NO_STRETCHING), fails("input"));
      assert.equal((await finish).upload.length, 192, "the first is not disturbed");
    });

    it("is given up in the middle of its work", async () => {
      const registration = await client.startRegistration("pw");
      const finish = registration.finish(response, argon2id(1024, 1));
      registration.cancel();
      await assert.rejects(finish, fails("input"));
      await assert.rejects(registration.finish(response, NO_STRETCHING), fails("input"));
      const reporting = await client.startRegistration("pw");
      await assert.rejects(reporting.finish(response, argon2id(1024, 1), { onProgress: () => reporting.cancel() }), fails("input"));
      const again = await client.startRegistration("pw");
      await again.finish(response, argon2id(1024, 1));
    });

    it("rejects with what its listener has thrown", async () => {
      const registration = await client.startRegistration("pw");
      const onProgress = () => {
        throw new Error("no such bar");
      };
      await assert.rejects(registration.finish(response, argon2id(1024, 1), { onProgress }), /no such bar/);
    });

    it("stops before it starts", async () => {
      const signal = AbortSignal.abort(new Error("changed my mind"));
      await assert.rejects(client.startLogin("pw", { signal }), /changed my mind/);
      const registration = await client.startRegistration("pw");
      await assert.rejects(registration.finish(response, argon2id(1024, 1), { signal }), /changed my mind/);
    });
  });
}

describe("a worker", () => {
  it("is stopped in the middle of key stretching", async () => {
    const client = new OpaqueClient({ limits: WEAK });
    const registration = await client.startRegistration("pw");
    const stop = new AbortController();
    // Minutes of work, which ends at its first report.
    const finish = registration.finish(unhex(transcript.response), argon2id(64 << 10, 128), {
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await assert.rejects(finish, { name: "AbortError" });
    await assert.rejects(registration.finish(unhex(transcript.response), NO_STRETCHING), fails("input"));
    // Another is not stopped.
    const again = await client.startRegistration("pw");
    await again.finish(unhex(transcript.response), argon2id(1024, 1));
    client.close();
  });

  it("returns its memory after key stretching", { timeout: 60_000 }, async () => {
    const client = new OpaqueClient({ limits: WEAK });
    const stretch = async () => {
      const registration = await client.startRegistration("pw");
      await registration.finish(unhex(transcript.response), argon2id(64 << 10, 1));
    };
    const before = process.memoryUsage.rss();
    for (let round = 0; round < 4; round++) await stretch();
    // A worker that ends takes a moment. If its memory stays, this goes on until the runner stops it.
    while (process.memoryUsage.rss() - before > 128 << 20) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  it("that can't be started is done without, until one can", async () => {
    const warn = mock.method(console, "warn", () => {});
    let tried = 0;
    globalThis.Worker = class {
      constructor() {
        tried++;
        throw new Error("not here");
      }
    };
    try {
      const client = new OpaqueClient({ limits: WEAK });
      // At the same time, so that each has a place of its own.
      const registrations = [await client.startRegistration("pw"), await client.startRegistration("pw")];
      for (const one of registrations) await one.finish(unhex(transcript.response), argon2id(1024, 1));
      assert.match(warn.mock.calls[0].arguments[0], /not here/);
      assert.deepEqual([tried, warn.mock.callCount()], [2, 1], "it is tried again, and said once");
      const own = new OpaqueClient({ limits: WEAK, worker: () => new Worker() });
      await assert.rejects(own.startRegistration("pw"), fails("internal"));
    } finally {
      delete globalThis.Worker;
      warn.mock.restore();
    }
  });

  it("that never starts is not waited for", async () => {
    const warn = mock.method(console, "warn", () => {});
    let [ended, posted] = [0, 0];
    let begun = () => {};
    globalThis.Worker = class {
      postMessage() {
        posted++;
        begun();
      }
      terminate() {
        ended++;
      }
    };
    try {
      const client = new OpaqueClient({ limits: WEAK });
      const stop = new AbortController();
      begun = () => stop.abort();
      await assert.rejects(client.startRegistration("pw", { signal: stop.signal }), { name: "AbortError" });
      mock.timers.enable({ apis: ["setTimeout"] });
      begun = () => mock.timers.tick(20_000);
      const registration = await client.startRegistration("pw");
      mock.timers.reset();
      await registration.finish(unhex(transcript.response), argon2id(1024, 1));
      assert.match(warn.mock.calls[0].arguments[0], /20 s/);
      assert.deepEqual([posted, ended], [2, 1]);
    } finally {
      mock.timers.reset();
      delete globalThis.Worker;
      warn.mock.restore();
    }
  });
});

describe("the module beside a page", () => {
  it("is not disturbed by whom it reports to", () => {
    const instance = new Instance(new WebAssembly.Module(Buffer.from(scalar, "base64")));
    const limits = { identity: false, leastMemoryKib: 0, leastWork: 0, mostMemoryKib: 1024, mostWork: 2048 };
    const [context, password] = ["test", "pw"].map((text) => new TextEncoder().encode(text));
    const start = { operation: "start-registration", text: true, limits, context, client: null, server: null, password };
    assert.equal(instance.work(start, () => {}).kind, "answer");
    const reports = [];
    const finish = { operation: "finish", message: unhex(transcript.response), ksf: argon2id(1024, 1) };
    const report = instance.work(finish, () => reports.push(instance.work({ operation: "forget" }, () => {}).kind));
    assert.ok(reports.length > 0 && reports.every((kind) => kind === "failure"));
    assert.equal(report.kind, "answer");
    assert.equal(instance.work({ operation: "forget" }, () => {}).kind, "answer", "afterwards it can be asked");
  });
});
