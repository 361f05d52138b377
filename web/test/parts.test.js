// The parts that need neither a server nor the module.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LoginClient } from "@candor/opaque";
import { fromBase64url, toBase64url } from "../dist/base64url.js";
import { codeBytes, codeText, newRecoveryCode, recoveryCodeForServer } from "../dist/recovery.js";

describe("base64url", () => {
  it("is what Node makes of the same bytes", () => {
    for (let length = 0; length < 70; length++) {
      const bytes = crypto.getRandomValues(new Uint8Array(length));
      const text = Buffer.from(bytes).toString("base64url");
      assert.equal(toBase64url(bytes), text);
      assert.deepEqual(fromBase64url(text), bytes);
    }
  });

  it("has one text for the same bytes", () => {
    for (const wrong of ["A", "AB", "AAB", "AA=", "A+AA", "AAAAA", "ä"]) assert.equal(fromBase64url(wrong), null, wrong);
    for (const right of ["", "AA", "AAA", "AAAA", "-_-_"]) assert.notEqual(fromBase64url(right), null, right);
  });
});

describe("a recovery code", () => {
  it("comes back as its owner types it", () => {
    for (const bytes of [new Uint8Array(16), new Uint8Array(16).fill(255), Uint8Array.from({ length: 16 }, (_, n) => 17 * n)]) {
      const text = codeText(bytes);
      assert.deepEqual(codeBytes(text), bytes);
      const typed = text.toLowerCase().replaceAll("-", " ").replaceAll("1", "l").replaceAll("0", "o");
      assert.deepEqual(codeBytes(typed), bytes);
    }
    assert.equal(codeText(new Uint8Array(16).fill(255)), "ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZW");
    assert.equal(codeBytes(newRecoveryCode()).length, 16);
  });

  it("is refused if it is none", () => {
    const wrong = ["", "ZZZZZ", "ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZZ", "ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZWW", "UZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZW"];
    for (const text of wrong) assert.throws(() => codeBytes(text), { type: "recovery-code" }, text);
  });

  it("tells the server the same as the client in Rust does", async () => {
    // HKDF-SHA-256 of sixteen sevens with the label, by Python's hmac.
    const told = await recoveryCodeForServer(codeText(new Uint8Array(16).fill(7)));
    assert.equal(Buffer.from(told).toString("hex"), "e680e8cf91405e8a8963b4b52baa0c825d5a07e7bb5a164873a9a20320c038dc");
  });
});

describe("a client", () => {
  it("speaks https, or http with this machine", () => {
    for (const good of ["https://login.example.org", "https://192.0.2.1:8443/", "http://127.0.0.1:80", "http://[::1]:8470", "http://localhost"]) {
      new LoginClient(good);
    }
    const bad = [
      undefined,
      "login.example.org",
      "http://login.example.org",
      "http://192.0.2.1",
      "http://127.0.0.1.example.org",
      "ftp://127.0.0.1",
      "https://login.example.org/v1",
      "https://login.example.org/?x",
      "https://me@login.example.org",
    ];
    for (const wrong of bad) assert.throws(() => new LoginClient(wrong), TypeError, wrong);
  });

  /** A client whose server answers so. */
  const answered = (answer, options) => new LoginClient("https://login.example.org", { fetch: async (...words) => answer(...words), ...options });
  const json = (value, init) => new Response(JSON.stringify(value), init);

  it("sends neither cookies nor where it comes from, and follows no redirection", async () => {
    let seen;
    const config = { suite: "hybrid", context: "candor-login-1", ksf: "", registration: "open" };
    const client = answered((url, init) => {
      seen = { url, ...init };
      return json(config);
    });
    assert.deepEqual(await client.config(), config);
    assert.equal(seen.url, "https://login.example.org/v1/config");
    assert.deepEqual([seen.credentials, seen.redirect, seen.referrerPolicy, seen.cache], ["omit", "error", "no-referrer", "no-store"]);
  });

  it("says what is wrong with an answer", async () => {
    const problem = (type) => ({ type: `urn:candor:login:${type}`, title: "too many attempts; wait", status: 429 });
    const cases = [
      [() => json(problem("throttled"), { status: 429, headers: { "Retry-After": "7" } }), { type: "throttled", status: 429, retryAfter: 7 }],
      [() => json(problem("no-session"), { status: 401 }), { type: "no-session", status: 401, retryAfter: undefined }],
      [() => json({}, { status: 500 }), { type: "answer" }],
      [() => new Response("<html>", { status: 502 }), { type: "answer" }],
      [() => new Response("<html>"), { type: "answer" }],
      [() => new Response(" ".repeat(1 << 18)), { type: "answer" }],
      [() => Promise.reject(new TypeError("no route")), { type: "network", status: 0 }],
    ];
    for (const [answer, expected] of cases) await assert.rejects(answered(answer).config(), expected);
  });

  it("waits no longer than it is told to, and stops when it is told to", async () => {
    const never = (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    await assert.rejects(answered(never, { timeout: 1 }).config(), { type: "timeout" });
    const stop = new AbortController();
    const asked = answered(never).config({ signal: stop.signal });
    stop.abort();
    await assert.rejects(asked, { name: "AbortError" });
  });
});
