// Which of the two modules an engine gets, and what becomes of one that it can't have.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inflateRawSync } from "node:zlib";
import { LoginClient, OpaqueClient } from "@candor/opaque";
import { hasVectors, loaded, loadModule } from "../dist/load.js";
import simd from "../dist/module-simd.js";
import scalar from "../dist/module-scalar.js";

const modules = { simd: inflateRawSync(Buffer.from(simd, "base64")), scalar: Buffer.from(scalar, "base64") };

let count = 0;
/** What is compiled by this script, loaded afresh. */
async function compiled(test) {
  const { compile } = WebAssembly;
  const seen = [];
  // Node's own `fetch` compiles something as well.
  test.mock.method(WebAssembly, "compile", (bytes) => {
    seen.push(...Object.keys(modules).filter((name) => modules[name].equals(Buffer.from(bytes))));
    return compile(bytes);
  });
  const fresh = await import(`../dist/load.js?${count++}`);
  await fresh.loadModule();
  return seen;
}

describe("an engine", () => {
  it("with vectors gets the module that has them", async (test) => {
    assert.equal(hasVectors(), true, "Node has them");
    assert.deepEqual(await compiled(test), ["simd"]);
  });

  it("without vectors gets the other", async (test) => {
    test.mock.method(WebAssembly, "validate", () => false);
    assert.deepEqual(await compiled(test), ["scalar"]);
  });

  it("that can't inflate gets the other", async (test) => {
    const inflating = globalThis.DecompressionStream;
    delete globalThis.DecompressionStream;
    try {
      assert.deepEqual(await compiled(test), ["scalar"]);
    } finally {
      globalThis.DecompressionStream = inflating;
    }
  });
});

describe("a module", () => {
  it("that may not be compiled, or can't be loaded, is said, and tried again", async (test) => {
    const compile = test.mock.method(WebAssembly, "compile", async () => {
      throw new WebAssembly.CompileError("refused to compile: 'unsafe-eval'");
    });
    await assert.rejects(new OpaqueClient().startLogin("pw"), { name: "OpaqueError", code: "internal" });
    const fetch = () => assert.fail("nothing is sent");
    const client = new LoginClient("https://login.example.org", { fetch });
    await assert.rejects(client.login("n", "pw"), { name: "LoginError", type: "internal" });
    compile.mock.restore();
    assert.ok((await loadModule()) instanceof WebAssembly.Module);
    await assert.rejects(loaded(() => import("./not-there.js")), { name: "OpaqueError", code: "network" });
    assert.equal(await loaded(async () => 7), 7);
  });
});
